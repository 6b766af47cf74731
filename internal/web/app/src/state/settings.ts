import { effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'outrunner.theme';

/** What this browser remembers. Without storage it is remembered until the page is left. */
export function remember(key: string, value: string | null, where: () => Storage = () => localStorage): void {
  try {
    if (value === null) where().removeItem(key);
    else where().setItem(key, value);
  } catch {
    // private windows may refuse: nothing depends on it
  }
}

export function recall(key: string, where: () => Storage = () => localStorage): string | null {
  try {
    return where().getItem(key);
  } catch {
    return null;
  }
}

function stored(): Theme {
  const t = recall(KEY);
  return t === 'light' || t === 'dark' ? t : 'auto';
}

export const theme = signal<Theme>(stored());
const systemDark = matchMedia('(prefers-color-scheme: dark)');
export const dark = signal(false);

export function watchTheme(): void {
  effect(() => {
    const t = theme.value;
    remember(KEY, t === 'auto' ? null : t);
    document.documentElement.dataset.theme = t;
    dark.value = t === 'dark' || (t === 'auto' && systemDark.matches);
  });
  systemDark.addEventListener('change', () => {
    if (theme.value === 'auto') dark.value = systemDark.matches;
  });
}

export function nextTheme(): void {
  theme.value = theme.value === 'auto' ? 'light' : theme.value === 'light' ? 'dark' : 'auto';
}
