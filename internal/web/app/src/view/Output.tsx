import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { plainText } from './ansi';

/** Of longer output only the end is shown until it is asked for, in lines and in characters. */
const LINES = 400;
const LETTERS = 64_000;

export function Output({ text }: { text: string }) {
  const whole = useSignal(false);
  const all = whole.value;
  const { shown, hidden } = useMemo(() => cut(plainText(text), all), [text, all]);
  return (
    <div class="output">
      {hidden > 0 && (
        <button type="button" class="quiet small" onClick={() => (whole.value = true)} data-testid="show-all">
          Show {hidden.toLocaleString()} more lines
        </button>
      )}
      <pre tabIndex={0} aria-label="output">
        {shown}
      </pre>
    </div>
  );
}

export function cut(text: string, all: boolean): { shown: string; hidden: number } {
  if (all) return { shown: text, hidden: 0 };
  let from = text.length;
  for (let n = 0; n <= LINES && from > 0; n++) {
    const at = text.lastIndexOf('\n', from - 2);
    if (at < 0) return text.length <= LETTERS ? { shown: text, hidden: 0 } : cutLetters(text);
    from = at + 1;
  }
  from = Math.max(from, text.length - LETTERS);
  return { shown: text.slice(from), hidden: text.slice(0, from).split('\n').length - 1 || 1 };
}

function cutLetters(text: string): { shown: string; hidden: number } {
  const from = text.length - LETTERS;
  return { shown: text.slice(from), hidden: text.slice(0, from).split('\n').length };
}
