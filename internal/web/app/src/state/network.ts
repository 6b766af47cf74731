import { computed, signal } from '@preact/signals';
import { api } from '../wire/api';
import { retryNow } from '../wire/backoff';
import { cutConnections } from '../wire/stream';

/** Whether the server answers, as far as is known. */
export type Reach = 'connecting' | 'up' | 'lost';

/** How long the server may take to answer when it is asked whether it is there, in milliseconds. */
const PROBE = 4_000;

export const reach = signal<Reach>('connecting');
export const online = signal(navigator.onLine);

/** What is wrong, for people; null = nothing. */
export type Trouble = 'browser-offline' | 'server-lost' | null;

export function troubleOf(reach: Reach, online: boolean): Trouble {
  if (reach !== 'lost') return null; // a server on this machine needs no network
  return online ? 'server-lost' : 'browser-offline';
}

export const trouble = computed<Trouble>(() => troubleOf(reach.value, online.value));

/** Asks the server whether it is there. */
export async function probe(): Promise<void> {
  try {
    await api.health(PROBE);
    if (reach.value === 'lost') retryNow();
    reach.value = 'up';
  } catch {
    reach.value = 'lost';
    cutConnections();
  }
}

export function watchNetwork(): void {
  const look = () => {
    online.value = navigator.onLine;
    void probe();
  };
  window.addEventListener('online', look);
  window.addEventListener('offline', look);
}
