import type { Entry } from '../state/transcript';
import { CopyButton } from './CopyButton';
import { Icon } from './Icon';
import { Output } from './Output';

const words = { running: 'runs', done: 'done', open: 'no result' };

/** A tool call, folded: its name and what it is about; inside, all of it. */
export function CallCard({ entry: e }: { entry: Entry & { kind: 'call' } }) {
  const args = pretty(e.args);
  return (
    <details
      class={`entry fold call call-${e.state}`}
      data-testid="tool-call"
      data-state={e.state}
      data-tool={e.name}
    >
      <summary>
        <Icon name="wrench" />
        <span class="call-name">{e.name}</span>
        <span class="fold-hint">{gist(e.args)}</span>
        <span class="call-state">{words[e.state]}</span>
      </summary>
      <div class="fold-body">
        {args && (
          <>
            <h3>
              Arguments <CopyButton text={args} />
            </h3>
            <pre tabIndex={0} aria-label="arguments">
              {args}
            </pre>
          </>
        )}
        {e.output !== null && (
          <>
            <h3>
              Result <CopyButton text={e.output} />
            </h3>
            <Output text={pretty(e.output)} />
          </>
        )}
      </div>
    </details>
  );
}

export function pretty(json: string): string {
  try {
    const v: unknown = JSON.parse(json);
    return typeof v === 'object' && v !== null
      ? Object.keys(v).length > 0
        ? JSON.stringify(v, null, 2)
        : ''
      : json;
  } catch {
    return json;
  }
}

/** The first words of a call's arguments: mostly they say what it is about. */
export function gist(json: string): string {
  try {
    const v: unknown = JSON.parse(json);
    if (typeof v !== 'object' || v === null) return json;
    const first = Object.values(v).find((x) => typeof x === 'string' && x !== '');
    return typeof first === 'string' ? first.replace(/\s+/g, ' ').slice(0, 200) : '';
  } catch {
    return json.slice(0, 200);
  }
}
