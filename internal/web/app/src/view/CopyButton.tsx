import { useEffect, useState } from 'preact/hooks';
import { Icon } from './Icon';

/** How long the button says that it worked, in milliseconds. */
const TOLD = 1500;

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [said, say] = useState<'' | 'Copied' | 'Not allowed'>('');
  useEffect(() => {
    if (!said) return;
    const t = setTimeout(() => say(''), TOLD);
    return () => clearTimeout(t);
  }, [said]);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => say('Copied'),
      () => say('Not allowed'),
    );
  };
  return (
    <button type="button" class="quiet small copy" onClick={copy} data-testid="copy">
      <Icon name={said === 'Copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}
