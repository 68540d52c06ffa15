import type { FirstKey } from '../../services/access/api-keys.js';
import { endHeld, watchHeldKeys } from '../../services/access/held-keys.js';
import { exception } from '../../services/telemetry/log.js';
import type { LostSecret } from '../../stores/api-keys.js';
import { type Authenticator, createAuthenticator } from '../auth/authenticator.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';

/** Who may come in. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly firstKey: FirstKey;
  close(): Promise<void>;
}

/** Reads keys; connections that outlive the request that they were opened with end with their key. */
export async function startAccess(
  { config, state, cluster, alerts, log, first }: Foundation,
  { events }: Data,
): Promise<Access> {
  const authenticator = createAuthenticator(state, {
    settle: async () => void (await cluster.settle()),
    onError: (error) => log.write('key.use.failed', exception(error)),
  });
  const heldConnections = () => [...events.hub.held(), ...alerts.held()];
  cluster.announcements.on('lost-secret', (secrets) => {
    // What was missed is noticed by the next look at a key.
    if (secrets === 'all') return authenticator.forgetAll();
    for (const { hash, keyId } of secrets as LostSecret[]) {
      authenticator.forget(hash);
      endHeld(heldConnections(), keyId);
    }
  });
  const forgetKeys = watchHeldKeys(heldConnections, (id) => state.apiKeys.get(id));
  const { keys } = authenticator;
  const makesFirstKey = first && config.server.role === 'server';
  return {
    authenticator,
    firstKey: makesFirstKey
      ? await keys.ensureFirst(config.security.adminKey || undefined)
      : { from: 'stored' },
    close() {
      forgetKeys();
      return authenticator.close();
    },
  };
}
