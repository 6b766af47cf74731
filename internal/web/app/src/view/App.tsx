import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { current } from '../state/current';
import { route } from '../state/route';
import { said } from '../state/say';
import { Banner } from './Banner';
import { useDropdowns } from './dropdowns';
import { HelpDialog } from './HelpDialog';
import { NewSession } from './NewSession';
import { SessionView } from './SessionView';
import { useShortcuts } from './shortcuts';
import { Sidebar } from './Sidebar';

export function App() {
  const drawer = useSignal(false);
  const help = useSignal(false);
  useShortcuts({ help: () => (help.value = true), list: () => (drawer.value = true) });
  useDropdowns();
  const here = route.value;
  useEffect(() => {
    drawer.value = false;
  }, [here.session, here.tab, drawer]);
  const live = current.value;
  return (
    <div class={drawer.value ? 'app drawer-open' : 'app'}>
      <Sidebar close={() => (drawer.value = false)} help={() => (help.value = true)} />
      <button
        type="button"
        class="shade"
        aria-label="Close the list"
        tabIndex={-1}
        onClick={() => (drawer.value = false)}
      />
      <main class="main" inert={drawer.value && matchMedia('(max-width: 800px)').matches}>
        <Banner />
        {live ? (
          <SessionView key={live.id} live={live} menu={() => (drawer.value = true)} />
        ) : (
          <NewSession menu={() => (drawer.value = true)} />
        )}
      </main>
      {help.value && <HelpDialog close={() => (help.value = false)} />}
      <div class="toast-place" role="status" aria-live="polite">
        {said.value && (
          <p class="toast" data-testid="toast" key={said.value.n}>
            {said.value.text}
          </p>
        )}
      </div>
    </div>
  );
}
