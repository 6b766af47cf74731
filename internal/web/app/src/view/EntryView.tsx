import { memo } from 'preact/compat';
import { Markdown } from '../markdown/Markdown';
import type { LiveSession } from '../state/live';
import { send } from '../state/send';
import type { Entry } from '../state/transcript';
import { CallCard } from './CallCard';
import { CopyButton } from './CopyButton';
import { ErrorCard } from './ErrorCard';
import { Icon } from './Icon';
import { Output } from './Output';
import { exactly } from './time';

interface Props {
  entry: Entry;
  live: LiveSession;
  /** The agent's text is a program's output, not markdown. */
  plain: boolean;
}

export const EntryView = memo(
  EntryOf,
  (a, b) => a.live === b.live && a.plain === b.plain && alike(a.entry, b.entry),
);

function alike(a: Entry, b: Entry): boolean {
  const x = a as unknown as Record<string, unknown>;
  const y = b as unknown as Record<string, unknown>;
  return Object.keys(y).every((k) => x[k] === y[k] || (Array.isArray(x[k]) && String(x[k]) === String(y[k])));
}

function EntryOf({ entry: e, live, plain }: Props) {
  switch (e.kind) {
    case 'user':
      return (
        <article
          class="entry user"
          data-testid="message-user"
          data-state={e.waits ? 'waiting' : 'delivered'}
          title={exactly(e.at)}
        >
          <p>{e.text}</p>
          {e.files.map((f) => (
            <p key={f} class="file">
              {f}
            </p>
          ))}
          {e.waits && <footer>Waits for the runner</footer>}
        </article>
      );
    case 'outgoing':
      return <OutgoingEntry entry={e} live={live} />;
    case 'text':
      return (
        <article
          class={e.live ? 'entry assistant live' : 'entry assistant'}
          data-testid="message-assistant"
          data-state={e.live ? 'streaming' : 'stored'}
          title={exactly(e.at)}
        >
          {plain ? <Output text={e.text} /> : <Markdown text={e.text} />}
          {e.broken && <p class="gap">…</p>}
          {!e.live && (
            <div class="entry-tools">
              <CopyButton text={e.text} />
            </div>
          )}
        </article>
      );
    case 'call':
      return <CallCard entry={e} />;
    case 'thought':
      return (
        <details class="entry fold thought" data-testid="thought">
          <summary>
            <Icon name="thought" />
            <span>{e.live ? 'Thinking…' : 'Thought'}</span>
            <span class="fold-hint">{e.text.trim().split('\n').at(-1)}</span>
          </summary>
          <div class="fold-body">
            <Markdown text={e.text} />
          </div>
        </details>
      );
    case 'error':
      return <ErrorCard error={e.error} />;
    case 'note':
      return e.more ? (
        <details class="entry fold note" data-testid="note">
          <summary>
            <span>{e.text}</span>
          </summary>
          <div class="fold-body">
            <Output text={e.more} />
          </div>
        </details>
      ) : (
        <p class="entry note" data-testid="note">
          {e.text}
        </p>
      );
  }
}

function OutgoingEntry({ entry, live }: { entry: Entry & { kind: 'outgoing' }; live: LiveSession }) {
  const m = entry.message;
  const drop = () => live.dispatch({ type: 'discard', stableId: m.stableId });
  return (
    <article
      class={`entry user pending ${m.state}`}
      data-testid="message-user"
      data-state={m.state === 'accepted' ? 'waiting' : m.state}
    >
      <p>{m.text}</p>
      {m.state === 'sending' && <footer>Sending…</footer>}
      {m.state === 'accepted' && <footer>Waits for the runner</footer>}
      {m.state === 'refused' && (
        <footer>
          <span role="alert">Not sent: {m.problem}</span>
          <button
            type="button"
            class="small"
            onClick={() => void send(live, m.text, m.stableId)}
            data-testid="send-again"
          >
            Send again
          </button>
          <button type="button" class="small quiet" onClick={drop}>
            Discard
          </button>
        </footer>
      )}
    </article>
  );
}
