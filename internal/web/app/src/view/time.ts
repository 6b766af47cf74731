const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago something was, in as few letters as possible. */
export function ago(at: number, now: number): string {
  const s = Math.max(0, now - at);
  if (s < MINUTE) return 'now';
  if (s < HOUR) return `${Math.floor(s / MINUTE)} min`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h`;
  if (s < 7 * DAY) return `${Math.floor(s / DAY)} d`;
  return new Date(at * 1000).toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
}

export function exactly(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at * 1000).toLocaleString();
}
