import { effect, signal } from '@preact/signals';
import { watched } from './feed';
import { LiveSession } from './live';
import { route } from './route';

/** The session on the screen. */
export const current = signal<LiveSession | null>(null);

export function watchCurrent(): void {
  effect(() => {
    const id = route.value.session;
    const had = current.peek();
    if (had?.id === id) return;
    had?.close();
    watched.value = id;
    const next = id ? new LiveSession(id) : null;
    current.value = next;
    next?.start();
  });
}
