const FIRST = 400;
const LAST = 8000;

/** The pauses between attempts to reach the server, in milliseconds. */
export class Backoff {
  private n = 0;

  next(random: () => number = Math.random): number {
    const full = Math.min(LAST, FIRST * 2 ** this.n);
    this.n++;
    return Math.round(full * (0.75 + random() * 0.25));
  }

  reset(): void {
    this.n = 0;
  }
}

/**
 * Waits, but not longer than until the browser is online again, the page is
 * looked at again, or the user does not want to wait.
 */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      window.removeEventListener(RETRY_NOW, end);
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const look = () => {
      if (document.visibilityState === 'visible') end();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener('online', end);
    window.addEventListener(RETRY_NOW, end);
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}

const RETRY_NOW = 'outrunner-retry-now';

/** Ends every pause. */
export function retryNow(): void {
  window.dispatchEvent(new Event(RETRY_NOW));
}
