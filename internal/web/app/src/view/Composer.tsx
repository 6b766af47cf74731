import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { recall, remember } from '../state/settings';
import { Icon } from './Icon';

interface Props {
  /** Under which name an unfinished message survives a reload. */
  draftKey: string;
  placeholder: string;
  /** Says whether the text is taken. */
  send: (text: string) => Promise<boolean> | boolean;
  disabled?: boolean;
  autoFocus?: boolean;
  children?: ComponentChildren;
}

/** Where messages are written. */
export function Composer({ draftKey, placeholder, send, disabled, autoFocus, children }: Props) {
  const key = `outrunner.draft.${draftKey}`;
  const text = useSignal(recall(key, () => sessionStorage) ?? '');
  const area = useRef<HTMLTextAreaElement>(null);
  const value = text.value;

  useEffect(() => remember(key, value || null, () => sessionStorage), [key, value]);
  useEffect(() => {
    if (autoFocus && matchMedia('(pointer: fine)').matches) area.current?.focus();
  }, [autoFocus]);
  useLayoutEffect(() => {
    const a = area.current;
    if (!a) return;
    a.style.height = 'auto';
    a.style.height = `${a.scrollHeight}px`;
  }, [value]);

  const submit = async () => {
    const t = text.value.trim();
    if (!t || disabled) return;
    text.value = '';
    if (!(await send(t))) text.value = t; // give it back
    area.current?.focus();
  };
  return (
    <form
      class="composer"
      onSubmit={(e) => {
        e.preventDefault();
        void submit();
      }}
    >
      <textarea
        ref={area}
        rows={1}
        value={value}
        placeholder={placeholder}
        aria-label="Message"
        data-testid="composer"
        spellcheck
        onInput={(e) => (text.value = e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape') e.currentTarget.blur();
          if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
          e.preventDefault();
          void submit();
        }}
      />
      {children}
      <button
        type="submit"
        class="primary icon-only"
        aria-label="Send"
        title="Send (Enter)"
        data-testid="send"
        disabled={disabled || !value.trim()}
      >
        <Icon name="send" />
      </button>
    </form>
  );
}
