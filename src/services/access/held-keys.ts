import type { Principal } from '../../core/operation.js';
import type { StoredApiKey } from '../../stores/api-keys.js';
import { keyStatus } from './api-keys.js';
import { isAboutCertificates } from './certificates/trust.js';
import type { RuleChange, RuleSet } from './rules.js';

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

/**
 * Ends the connections of those who have other rights by now: their roles give others, or they were changed themselves.
 * Those of certificates end with each change of what is believed of certificates, and are let in again or not.
 */
export function endChanged(holders: Iterable<Held>, { before, after, subjects }: RuleChange): void {
  const named = subjects === 'all' ? undefined : new Set(subjects.map((one) => one.id));
  const ofCertificates = subjects === 'all' || subjects.some((one) => isAboutCertificates(one.kind));
  for (const { principal, end } of [...holders]) {
    const { id, kind, sessionHash = '', tenantId = '', roles = [] } = principal;
    const isNamed = named ? [id, sessionHash, tenantId].some((one) => named.has(one)) : kind === 'user';
    const isDoubtful = kind === 'certificate' && ofCertificates;
    if (isNamed || isDoubtful || givesOther(roles, before, after)) end();
  }
}

function givesOther(roles: readonly string[], before: RuleSet, after: RuleSet): boolean {
  if (roles.length === 0) return false;
  return JSON.stringify(before.labelsOf(roles)) !== JSON.stringify(after.labelsOf(roles));
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
    if (principal.expiresAt !== undefined && principal.expiresAt <= Date.now()) end();
    if (principal.kind !== 'api-key') continue;
    if (!keys.has(principal.id)) keys.set(principal.id, await key(principal.id));
    if (!isGood(keys.get(principal.id), connectedAt)) end();
  }
}

function isGood(key: StoredApiKey | undefined, since: number): boolean {
  return key !== undefined && keyStatus(key) === 'active' && (key.rotatedAt ?? 0) <= since;
}
