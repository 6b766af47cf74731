import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { working } from '../state/chat';
import type { LiveSession } from '../state/live';
import { route } from '../state/route';
import { runnerOf } from '../state/about';
import { complain } from '../state/say';
import { send } from '../state/send';
import { errorOf, transcript } from '../state/transcript';
import { Composer } from './Composer';
import { EntryView } from './EntryView';
import { ErrorCard } from './ErrorCard';
import { Icon } from './Icon';
import { interrupt } from './interrupt';
import { QuestionCard } from './QuestionCard';

/** So near to its end a conversation follows what is added, in pixels. */
const NEAR = 80;

export function Chat({ live, hidden }: { live: LiveSession; hidden: boolean }) {
  const chat = live.chat.value;
  const entries = useComputed(() => transcript(live.chat.value));
  const list = entries.value;
  const plain = chat.session?.agent_name === 'shell' || chat.session?.harness === 'acp:shell';
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const away = useSignal(false);
  const older = useSignal(false);

  useLayoutEffect(() => {
    const el = scroller.current;
    if (el && follows.current && !hidden) el.scrollTop = el.scrollHeight;
  }, [list, chat.questions, chat.status, hidden]);
  useEffect(() => {
    const el = scroller.current;
    if (!el) return;
    const watch = new ResizeObserver(() => {
      if (follows.current) el.scrollTop = el.scrollHeight;
    });
    watch.observe(el);
    return () => watch.disconnect();
  }, []);

  const onScroll = () => {
    const el = scroller.current;
    if (!el) return;
    follows.current = el.scrollHeight - el.scrollTop - el.clientHeight < NEAR;
    away.value = !follows.current;
  };
  const toEnd = () => {
    follows.current = true;
    away.value = false;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  const readOlder = async () => {
    const el = scroller.current;
    if (!el || older.value) return;
    older.value = true;
    const below = el.scrollHeight - el.scrollTop;
    await live.readOlder().catch(complain('Reading older messages'));
    older.value = false;
    requestAnimationFrame(() => (el.scrollTop = el.scrollHeight - below));
  };
  const showError = chat.status === 'failed' && chat.error && list.at(-1)?.kind !== 'error';
  const runs = working(chat);
  return (
    <section
      class="chat"
      hidden={hidden}
      role="tabpanel"
      aria-label="Chat"
      data-testid="chat"
      data-status={chat.status}
    >
      <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={-1}>
        <div
          class="transcript"
          role="log"
          aria-label="Conversation"
          aria-busy={runs}
          data-testid="transcript"
        >
          {chat.hasOlder && (
            <button
              type="button"
              class="quiet small older"
              disabled={older.value}
              onClick={() => void readOlder()}
              data-testid="older"
            >
              Show older messages
            </button>
          )}
          {chat.phase === 'loading' && <p class="empty">Loading…</p>}
          {chat.phase === 'ready' && list.length === 0 && <p class="empty">Nothing was said yet.</p>}
          {list.map((e) => (
            <EntryView key={e.key} entry={e} live={live} plain={plain} />
          ))}
          {showError && chat.error && <ErrorCard error={errorOf(chat.error)} />}
          {runs && chat.questions.length === 0 && (
            <Working text={chat.interrupting ? 'Interrupting…' : (chat.notice ?? 'Working…')} />
          )}
          {chat.questions.map((q) => (
            <QuestionCard key={q.elicitation_id} question={q} live={live} />
          ))}
        </div>
      </div>
      {away.value && (
        <button type="button" class="to-end small" onClick={toEnd} data-testid="to-end">
          <Icon name="down" /> To the end
        </button>
      )}
      <div class="chat-foot">
        <Offline live={live} />
        <Composer
          draftKey={live.id}
          placeholder={runs ? 'A message for after this turn, or to steer it' : 'Message'}
          autoFocus={!hidden && !route.value.byKey}
          send={(text) => {
            toEnd();
            void send(live, text);
            return true;
          }}
        >
          {(runs || chat.status === 'waiting') && (
            <button
              type="button"
              class="icon-only"
              aria-label="Interrupt"
              title="Interrupt the turn (Ctrl+.)"
              data-testid="interrupt"
              disabled={chat.interrupting}
              onClick={() => void interrupt(live)}
            >
              <Icon name="stop" />
            </button>
          )}
        </Composer>
      </div>
    </section>
  );
}

function Working({ text }: { text: string }) {
  return (
    <p class="working" data-testid="working">
      <span class="pulse" aria-hidden="true" /> {text}
    </p>
  );
}

/** Says that the session's machine is away: not this browser, and not the server. */
function Offline({ live }: { live: LiveSession }) {
  const r = runnerOf(live);
  const chat = live.chat.value;
  const waits = chat.waiting.size > 0 || chat.outbox.some((o) => o.state === 'accepted');
  if (!r || r.state === 'online' || (r.state === 'none' && !waits)) return null;
  return (
    <p class="hint" role="status" data-testid="runner-offline">
      <Icon name="warn" />
      <span>
        {r.state === 'none'
          ? 'No runner is connected. What you send is kept, and reaches the first that is; on your machine:'
          : 'The runner of this session is offline. What you send is kept, and reaches it when it is back; on its machine:'}{' '}
        <code>outrunner run --server {location.origin}</code>
      </span>
    </p>
  );
}
