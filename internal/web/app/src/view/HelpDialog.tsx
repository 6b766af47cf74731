import { Dialog } from './Dialog';
import { shortcuts } from './shortcuts';

export function HelpDialog({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={close} testid="help">
      <dl class="keys">
        {shortcuts.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
