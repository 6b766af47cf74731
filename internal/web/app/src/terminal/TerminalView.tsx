import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Terminal } from '../state/chat';
import type { LiveSession } from '../state/live';
import { runnerOf } from '../state/about';
import { dark } from '../state/settings';
import { say } from '../state/say';
import { retryNow } from '../wire/backoff';
import { onCut } from '../wire/stream';
import { Icon } from '../view/Icon';
import { Attach, attachUrl, type AttachState } from './attach';
import { extraKeys } from './keys';
import { Screen } from './screen';

interface Props {
  live: LiveSession;
  terminal: Terminal;
  shown: boolean;
}

/** How long the word about keys that go nowhere stays, in milliseconds. */
const TOLD = 2_000;

/** What the browser tests read (README.md, "Test ids"). */
const states = { connecting: 'connecting', connected: 'connected', closed: 'closed' };

/** One terminal: a screen, the line to it, and what is to be said about both. */
export function TerminalView({ live, terminal, shown }: Props) {
  const session = live.id;
  const away = runnerOf(live)?.state === 'offline';
  const host = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const attach = useRef<Attach | null>(null);
  const state = useSignal<AttachState>({ name: 'connecting', again: false });
  const readOnly = useSignal(false);
  const blocked = useSignal(false);
  const offered = useSignal<string | null>(null);
  const foreign = useSignal<string | null>(null);
  const watches = readOnly.value;
  const isDark = dark.value;
  const isShown = useRef(shown);
  isShown.current = shown;

  useEffect(() => {
    const place = host.current;
    if (!place) return;
    const begin = () => {
      screen.current?.dispose();
      place.replaceChildren();
      const s = new Screen(place, dark.peek(), {
        input: (data) => {
          if (!line.write(data)) blocked.value = true;
        },
        room: (cols, rows) => line.resize(cols, rows),
        leave: () => document.querySelector<HTMLElement>('[role=tab][aria-selected=true]')?.focus(),
        copy: (text) =>
          void navigator.clipboard
            .writeText(text)
            .catch(() => say('The browser does not allow copying here.')),
        overloaded: () => line.restart(),
      });
      screen.current = s;
      return s;
    };
    const line = new Attach(attachUrl(session, terminal.id, watches), watches, {
      open: () => {
        const s = begin();
        s.accept(!watches);
        if (isShown.current && matchMedia('(pointer: fine)').matches) s.term.focus();
        foreign.value = null;
        return s.own;
      },
      size: (cols, rows) => {
        const s = screen.current;
        s?.resize(cols, rows);
        foreign.value = s && (s.own.cols !== cols || s.own.rows !== rows) ? `${cols} × ${rows}` : null;
      },
      bytes: (data) => screen.current?.write(data),
      clipboard: (text) => void navigator.clipboard.writeText(text).catch(() => (offered.value = text)),
      unsure: (bytes) => say(`The last ${bytes} letters that you typed may not have arrived.`),
      state: (s) => {
        if (s.name !== 'connected') screen.current?.accept(false);
        if (s.name === 'closed' && s.ended) live.dispatch({ type: 'terminalEnded', id: terminal.id });
        state.value = s;
      },
    });
    attach.current = line;
    line.dial();
    const sizes = new ResizeObserver(() => screen.current?.fit());
    sizes.observe(place);
    const look = () => {
      if (document.visibilityState === 'visible' && line.waits) line.now();
    };
    const back = () => line.waits && line.now();
    document.addEventListener('visibilitychange', look);
    window.addEventListener('online', back);
    const forget = onCut(() => line.restart());
    return () => {
      forget();
      document.removeEventListener('visibilitychange', look);
      window.removeEventListener('online', back);
      sizes.disconnect();
      line.close();
      screen.current?.dispose();
      screen.current = null;
    };
  }, [live, session, terminal.id, watches, state, blocked, offered, foreign]);

  useEffect(() => screen.current?.setDark(isDark), [isDark]);
  useLayoutEffect(() => {
    if (!shown) return;
    screen.current?.fit();
    if (matchMedia('(pointer: fine)').matches) screen.current?.term.focus();
  }, [shown]);
  useEffect(() => {
    const s = state.peek();
    if (!away && s.name === 'closed' && !s.ended) attach.current?.now(); // the runner is back, and its terminals
  }, [away, state]);
  const isBlocked = blocked.value;
  useEffect(() => {
    if (!isBlocked) return;
    const t = setTimeout(() => (blocked.value = false), TOLD);
    return () => clearTimeout(t);
  }, [isBlocked, blocked]);

  const s = state.value;
  const connected = s.name === 'connected';
  const type = (bytes: string) => {
    if (!attach.current?.write(new TextEncoder().encode(bytes))) blocked.value = true;
    screen.current?.term.focus();
  };
  const again = () => {
    retryNow();
    attach.current?.now();
  };
  return (
    <section
      class={shown ? 'terminal-view shown' : 'terminal-view'}
      role="tabpanel"
      aria-label={`Terminal ${terminal.label}`}
      aria-hidden={!shown}
      inert={!shown}
      data-testid="terminal-view"
      data-terminal-id={terminal.id}
      data-terminal-theme={isDark ? 'dark' : 'light'}
      data-state={states[s.name]}
      data-read-only={String(watches)}
    >
      <div class="terminal-bar">
        <span class={`line line-${s.name}`} data-testid="terminal-line" role="status">
          {words(s)}
        </span>
        {watches && <span class="line">You only watch</span>}
        {foreign.value && connected && (
          <span class="line foreign" data-testid="foreign-size">
            {foreign.value}, the size of another viewer{watches ? '' : '; type to take yours'}
          </span>
        )}
        <span class="grow" />
        <button
          type="button"
          class="quiet small"
          disabled={s.name === 'closed' && s.ended}
          aria-pressed={watches}
          data-testid="read-only"
          onClick={() => {
            state.value = { name: 'connecting', again: false }; // the line that stands is not the one asked for
            readOnly.value = !watches;
          }}
        >
          <Icon name="eye" /> {watches ? 'Type again' : 'Only watch'}
        </button>
      </div>
      <div class={connected ? 'terminal-place' : 'terminal-place dim'}>
        <div
          class="terminal-host"
          ref={host}
          data-testid="terminal-host"
          onKeyDownCapture={(e) => {
            if ((!connected || watches) && !e.ctrlKey && !e.metaKey && e.key.length === 1)
              blocked.value = true;
          }}
        />
        {!connected && (
          <div class="terminal-overlay" data-testid="terminal-overlay">
            <p>{overlay(s, away)}</p>
            {s.name === 'closed' && !terminal.ended && !s.ended && (
              <button type="button" onClick={again} data-testid="terminal-again">
                Connect again
              </button>
            )}
            {s.name === 'connecting' && s.again && (
              <button type="button" class="small" onClick={again}>
                Now
              </button>
            )}
          </div>
        )}
        {isBlocked && (
          <p class="terminal-blocked" role="alert" data-testid="input-blocked">
            {watches ? 'You only watch: keys are not sent.' : 'Not connected: keys are not sent.'}
          </p>
        )}
        {offered.value !== null && (
          <p class="terminal-blocked" role="alert">
            The program wants to copy {offered.value.length} letters.
            <button
              type="button"
              class="small"
              onClick={() => {
                void navigator.clipboard
                  .writeText(offered.value ?? '')
                  .catch(() => say('The browser does not allow copying here.'));
                offered.value = null;
              }}
            >
              Copy
            </button>
            <button type="button" class="small quiet" onClick={() => (offered.value = null)}>
              No
            </button>
          </p>
        )}
      </div>
      <div class="extra-keys" role="group" aria-label="Keys">
        {extraKeys.map(([label, name, bytes]) => (
          <button
            key={label}
            type="button"
            class="small"
            aria-label={name}
            disabled={!connected || watches}
            onPointerDown={(e) => e.preventDefault()}
            onClick={() => type(bytes)}
          >
            {label}
          </button>
        ))}
      </div>
    </section>
  );
}

function words(s: AttachState): string {
  if (s.name === 'connected') return 'Connected';
  if (s.name === 'closed') return s.ended ? 'Ended' : 'Disconnected';
  return s.again ? 'Reconnecting…' : 'Connecting…';
}

function overlay(s: AttachState, away: boolean): string {
  if (away && !(s.name === 'closed' && s.ended))
    return 'The runner is offline. The terminal goes on there, and is shown when it is back.';
  if (s.name === 'closed')
    return s.ended ? 'The terminal has ended.' : `The connection was closed: ${s.reason}.`;
  return s.name === 'connecting' && s.again ? 'Reconnecting… What you type now is not sent.' : 'Connecting…';
}
