import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { current } from '../state/current';
import { reach } from '../state/network';
import { go } from '../state/route';
import { recall, remember } from '../state/settings';
import { send } from '../state/send';
import { api } from '../wire/api';
import type { Agent, Runner } from '../wire/types';
import { Composer } from './Composer';
import { Icon } from './Icon';

const AGENT = 'outrunner.agent';
/** How often agents and runners are read while this page is looked at, in milliseconds. */
const POLL = 4_000;

/** The page of a new session: who answers, where, and the first message. */
export function NewSession({ menu }: { menu: () => void }) {
  const agents = useSignal<Agent[] | null>(null);
  const runners = useSignal<Runner[] | null>(null);
  const agent = useSignal(recall(AGENT) ?? '');
  const runner = useSignal('');
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const up = reach.value;
  useEffect(() => {
    let left = false;
    const read = async () => {
      const [a, r] = await Promise.all([api.agents(), api.runners()]);
      if (left) return;
      agents.value = a.data;
      runners.value = r.data;
    };
    const tryRead = () => void read().catch(() => undefined); // the banner says it
    tryRead();
    const t = setInterval(tryRead, POLL);
    document.title = 'outrunner';
    return () => {
      left = true;
      clearInterval(t);
    };
  }, [agents, runners, up]);

  const chosen =
    agents.value?.find((a) => a.id === agent.value) ??
    agents.value?.find((a) => a.name === 'shell') ??
    agents.value?.[0];
  const online = runners.value?.filter((r) => r.online) ?? [];
  const where =
    online.find((r) => r.runner_id === runner.value) ?? (online.length > 1 ? undefined : online[0]);

  const create = async (text: string): Promise<boolean> => {
    if (!chosen || busy.value) return false;
    busy.value = true;
    problem.value = null;
    try {
      const s = await api.create({ agent_id: chosen.id, ...(where ? { runner_id: where.runner_id } : {}) });
      go({ session: s.id });
      if (text && current.value?.id === s.id) void send(current.value, text);
      return true;
    } catch (e) {
      problem.value = e instanceof Error ? e.message : String(e);
      return false;
    } finally {
      busy.value = false;
    }
  };

  return (
    <div class="new-session" data-testid="new-session-page">
      <header class="bar">
        <button type="button" class="quiet icon-only menu" aria-label="Sessions" onClick={menu}>
          <Icon name="menu" />
        </button>
      </header>
      <div class="new-body">
        <h1>What should be done?</h1>
        {agents.value?.length === 0 && (
          <p class="hint" role="alert">
            This server offers no agent. Put one into <code>server/agents/</code> of its state directory; the
            README shows how.
          </p>
        )}
        <AgentPicker
          agents={agents.value ?? []}
          chosen={chosen?.id}
          choose={(id) => {
            agent.value = id;
            remember(AGENT, id);
          }}
        />
        {online.length > 1 && (
          <label class="field">
            On
            <select
              data-testid="runner-picker"
              value={where?.runner_id ?? ''}
              onChange={(e) => (runner.value = e.currentTarget.value)}
            >
              <option value="" disabled>
                Choose a runner
              </option>
              {online.map((r) => (
                <option key={r.runner_id} value={r.runner_id}>
                  {runnerName(r.runner_id)}
                </option>
              ))}
            </select>
          </label>
        )}
        {runners.value && online.length === 0 && (
          <p class="hint" data-testid="no-runner">
            <Icon name="warn" />
            <span>
              No runner is connected. A message waits until one is: start it on your machine with{' '}
              <code>outrunner run --server {location.origin}</code>
            </span>
          </p>
        )}
        {problem.value && (
          <p class="hint bad" role="alert" data-testid="create-problem">
            <Icon name="warn" /> <span>{problem.value}</span>
          </p>
        )}
        <Composer
          draftKey="new"
          placeholder={chosen?.name === 'shell' ? 'A command, for example: uname -a' : 'The first message'}
          send={create}
          disabled={!chosen || busy.value || (online.length > 1 && !where)}
          autoFocus
        />
        {chosen?.terminals && chosen.terminals.length > 0 && (
          <button
            type="button"
            class="quiet"
            data-testid="session-without-message"
            onClick={() => void create('')}
          >
            <Icon name="terminal" /> Begin without a message, for its terminals
          </button>
        )}
      </div>
    </div>
  );
}

export function runnerName(id: string): string {
  return id.replace(/^runner_token_/, '').slice(0, 8);
}

function AgentPicker({
  agents,
  chosen,
  choose,
}: {
  agents: Agent[];
  chosen: string | undefined;
  choose: (id: string) => void;
}) {
  return (
    <fieldset class="agents" data-testid="agent-picker">
      <legend class="hidden-word">Agent</legend>
      {agents.map((a) => (
        <label key={a.id} class="agent" title={a.description ?? undefined}>
          <input
            type="radio"
            name="agent"
            value={a.id}
            checked={a.id === chosen}
            data-testid="agent"
            data-agent={a.name}
            onChange={() => choose(a.id)}
          />
          <span class="agent-name">{a.name}</span>
          {a.harness && <span class="agent-harness">{a.harness}</span>}
        </label>
      ))}
    </fieldset>
  );
}
