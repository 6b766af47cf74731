import type { Status } from '../wire/types';

export type Shown = Status | 'done' | 'asks' | 'unknown';

const words: Record<Shown, string> = {
  idle: 'Idle',
  launching: 'Starting',
  running: 'Working',
  waiting: 'Waiting',
  failed: 'Failed',
  done: 'Done',
  asks: 'Needs your answer',
  unknown: 'Not started',
};

export function stateOf(status: Status, questions: number | undefined): Shown {
  return questions ? 'asks' : status;
}

/** A dot whose colour and form say a state; the word is always there too. */
export function State({ state, word = false }: { state: Shown; word?: boolean }) {
  return (
    <span class={`state state-${state}`} data-testid="state" data-state={state} title={words[state]}>
      <span class="dot" aria-hidden="true" />
      <span class={word ? 'state-word' : 'hidden-word'}>{words[state]}</span>
    </span>
  );
}
