import type { Terminal } from '../state/chat';
import type { LiveSession } from '../state/live';
import { TerminalView } from './TerminalView';

interface Props {
  live: LiveSession;
  shown: string;
  terminals: readonly Terminal[];
  opened: ReadonlySet<string>;
}

/** The terminals that were looked at. They stay attached while another tab is shown. */
export function Terminals({ live, shown, terminals, opened }: Props) {
  return (
    <>
      {terminals
        .filter((t) => t.id === shown || opened.has(t.id))
        .map((t) => (
          <TerminalView key={t.id} live={live} terminal={t} shown={t.id === shown} />
        ))}
    </>
  );
}
