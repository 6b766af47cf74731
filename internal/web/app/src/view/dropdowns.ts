import { useEffect } from 'preact/hooks';

/** Closes an open list when something else is pressed, or Escape. */
export function useDropdowns(): void {
  useEffect(() => {
    const close = (but: Node | null) => {
      let closed = false;
      for (const d of document.querySelectorAll<HTMLDetailsElement>('details.dropdown[open]')) {
        if (but && d.contains(but)) continue;
        d.open = false;
        closed = true;
        if (!but) d.querySelector<HTMLElement>('summary')?.focus();
      }
      return closed;
    };
    const onPress = (e: PointerEvent) => close(e.target as Node);
    const onKey = (e: KeyboardEvent) => {
      if (e.key === 'Escape' && close(null)) e.preventDefault();
    };
    document.addEventListener('pointerdown', onPress);
    document.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('pointerdown', onPress);
      document.removeEventListener('keydown', onKey);
    };
  }, []);
}
