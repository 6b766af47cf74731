import { advice } from '../state/advice';
import type { ErrorText } from '../state/transcript';
import { Icon } from './Icon';

/** What went wrong, and what can be done about it. */
export function ErrorCard({ error: e }: { error: ErrorText }) {
  const todo = e.remediation ?? advice(e.code);
  return (
    <div
      class={e.info ? 'entry error info' : 'entry error'}
      role={e.info ? undefined : 'alert'}
      data-testid="error"
      data-code={e.code}
    >
      <Icon name="warn" />
      <div>
        {e.title && <strong>{e.title}</strong>}
        <p>{e.message}</p>
        {e.cause && <p class="cause">{e.cause}</p>}
        {todo && <p class="todo">{todo}</p>}
        <code class="error-code">{e.code}</code>
      </div>
    </div>
  );
}
