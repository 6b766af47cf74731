import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './Icon';

/** A dialog over the page. The browser keeps the focus in it and gives it back. */
export function Dialog(props: {
  title: string;
  close: () => void;
  testid: string;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = ref.current;
    d?.showModal();
    return () => d?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-label={props.title}
      data-testid={props.testid}
      onClose={props.close}
      onClick={(e) => e.target === ref.current && props.close()}
    >
      <div class="dialog-body">
        <header>
          <h2>{props.title}</h2>
          <button type="button" class="quiet icon-only" aria-label="Close" onClick={props.close}>
            <Icon name="close" />
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

/** Asks before something that can not be taken back. */
export function Confirm(props: {
  title: string;
  text: string;
  yes: string;
  act: () => void;
  close: () => void;
}) {
  return (
    <Dialog title={props.title} close={props.close} testid="confirm">
      <p>{props.text}</p>
      <div class="buttons">
        <button type="button" onClick={props.close}>
          Cancel
        </button>
        <button
          type="button"
          class="danger"
          data-testid="confirm-yes"
          onClick={() => {
            props.act(); // it may need what closing forgets
            props.close();
          }}
        >
          {props.yes}
        </button>
      </div>
    </Dialog>
  );
}
