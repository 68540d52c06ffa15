import type { FirstKey, LostSecret } from '../../services/access/api-keys.js';
import { endHeld, watchHeldKeys } from '../../services/access/held-keys.js';
import { exception } from '../../services/telemetry/log.js';
import { type Authenticator, createAuthenticator } from '../auth/authenticator.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';

/** Topic of secrets that were revoked or replaced. */
const LOST_SECRET = 'keys.lost-secret';

/** Who may come in. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly firstKey: FirstKey;
  close(): Promise<void>;
}

/** Reads keys; connections that outlive the request that they were opened with end with their key. */
export async function startAccess(
  { config, state, peers, alerts, log, first }: Foundation,
  { events }: Data,
): Promise<Access> {
  const authenticator = createAuthenticator(state, {
    tellLost: async (secret) => void (await peers.ask(LOST_SECRET, secret)),
    onError: (error) => log.write('key.use.failed', exception(error)),
  });
  const heldConnections = () => [...events.hub.held(), ...alerts.held()];
  peers.answer(LOST_SECRET, (about) => {
    const { hash, keyId } = about as LostSecret;
    authenticator.forget(hash);
    endHeld(heldConnections(), keyId);
    return null;
  });
  const forgetKeys = watchHeldKeys(heldConnections, (id) => state.apiKeys.get(id));
  const { keys } = authenticator;
  return {
    authenticator,
    firstKey: first ? await keys.ensureFirst(config.security.adminKey || undefined) : { from: 'stored' },
    close() {
      forgetKeys();
      return authenticator.close();
    },
  };
}
