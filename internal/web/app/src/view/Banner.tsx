import { trouble, probe } from '../state/network';
import { retryNow } from '../wire/backoff';
import { Icon } from './Icon';

const words = {
  'browser-offline': {
    title: 'Your browser is offline.',
    more: 'Messages you send wait here, and go out when it is online again.',
  },
  'server-lost': {
    title: 'The server does not answer; reconnecting…',
    more: 'Nothing is lost: what you send waits here, and what happens meanwhile is shown when it is back.',
  },
};

/** Says what stands between this page and the server. */
export function Banner() {
  const t = trouble.value;
  if (!t) return null;
  return (
    <div class="banner" role="alert" data-testid="connection-banner" data-state={t}>
      <Icon name="warn" />
      <p>
        <strong>{words[t].title}</strong> {words[t].more}
      </p>
      <button
        type="button"
        class="small"
        onClick={() => {
          void probe();
          retryNow();
        }}
      >
        Try now
      </button>
    </div>
  );
}
