import type { Principal } from '../../core/operation.js';
import type { StoredApiKey } from '../../stores/api-keys.js';
import { keyStatus } from './api-keys.js';

/** A connection that outlives the request it was opened with. */
export interface Held {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly connectedAt: number;
  end(): void;
}

/** Ends the connections that were opened with a key. */
export function endHeld(holders: Iterable<Held>, keyId: string): void {
  for (const { principal, end } of [...holders]) if (principal.id === keyId) end();
}

/** How long a connection may outlive its key. */
const CHECK_MS = 5000;

/**
 * Ends connections whose key has been revoked, has expired or got another secret since they were opened: a request is
 * asked for its key each time, a stream only once. Returns how to stop it.
 */
export function watchHeldKeys(
  holders: () => Iterable<Held>,
  key: (id: string) => Promise<StoredApiKey | undefined>,
  everyMs: number = CHECK_MS,
): () => void {
  let checking = false;
  const timer = setInterval(() => {
    if (checking) return;
    checking = true;
    // While the state database does not answer, what is open stays open.
    void check([...holders()], key)
      .catch(() => {})
      .finally(() => {
        checking = false;
      });
  }, everyMs).unref();
  return () => clearInterval(timer);
}

async function check(
  holders: readonly Held[],
  key: (id: string) => Promise<StoredApiKey | undefined>,
): Promise<void> {
  const keys = new Map<string, StoredApiKey | undefined>();
  for (const { principal, connectedAt, end } of holders) {
    if (principal.kind !== 'api-key') continue;
    if (!keys.has(principal.id)) keys.set(principal.id, await key(principal.id));
    if (!isGood(keys.get(principal.id), connectedAt)) end();
  }
}

function isGood(key: StoredApiKey | undefined, since: number): boolean {
  return key !== undefined && keyStatus(key) === 'active' && (key.rotatedAt ?? 0) <= since;
}
