import type { Principal } from '../../../core/http/operation.js';
import type { StoredApiKey } from '../../../stores/access/api-keys.js';
import { isAboutCertificates } from '../certificates/trust.js';
import type { RuleChange, RuleSet } from '../rules/rules.js';
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
  for (const { principal, end } of [...holders])
    if (principal.id === keyId || principal.userKeyId === keyId) end();
}

/**
 * Ends connections of callers whose rights changed. Their roles have other permissions, their account was changed, or
 * their credential was revoked.
 * Connections with certificates end with each change of the trust settings, and are checked again when they
 * reconnect.
 */
export function endChanged(holders: Iterable<Held>, { before, after, subjects }: RuleChange): void {
  const named = subjects === 'all' ? undefined : new Set(subjects.map((one) => one.id));
  const ofCertificates = subjects === 'all' || subjects.some((one) => isAboutCertificates(one.kind));
  for (const { principal, end } of [...holders]) {
    const { id, kind, sessionHash = '', tenantId = '', roles = [], endsWith = [] } = principal;
    const names = [id, sessionHash, tenantId, ...endsWith];
    const isNamed = named ? names.some((one) => named.has(one)) : kind === 'user' || endsWith.length > 0;
    const isDoubtful = kind === 'certificate' && ofCertificates;
    if (isNamed || isDoubtful || givesOther(roles, before, after)) end();
  }
}

function givesOther(roles: readonly string[], before: RuleSet, after: RuleSet): boolean {
  if (roles.length === 0) return false;
  return JSON.stringify(before.labelsOf(roles)) !== JSON.stringify(after.labelsOf(roles));
}

/** Maximum milliseconds that a connection outlives its key. */
const CHECK_MS = 5000;
/** Milliseconds for which a cached key is valid. Announcements report revoked keys and changed secrets. */
const VALID_MS = 60_000;

type ReadKey = (id: string) => Promise<StoredApiKey | undefined>;

/** Watches the keys of open connections. */
export interface HeldKeys {
  /** Reads all keys again at the next check. */
  forget(): void;
  close(): void;
}

/**
 * Ends connections whose key was revoked, expired or got another secret since they were opened. Each request checks
 * its key, but a stream checks it only once.
 */
export function watchHeldKeys(
  holders: () => Iterable<Held>,
  key: ReadKey,
  everyMs: number = CHECK_MS,
  validMs: number = VALID_MS,
): HeldKeys {
  const keys = new Map<string, { key: StoredApiKey | undefined; until: number }>();
  let forgotten = 0;
  const read: ReadKey = async (id) => {
    const entry = keys.get(id);
    if (entry && entry.until > Date.now()) return entry.key;
    const before = forgotten;
    const current = await key(id);
    // A key that was read before a change is not kept after it.
    if (before === forgotten) keys.set(id, { key: current, until: Date.now() + validMs });
    return current;
  };
  let checking = false;
  const timer = setInterval(() => {
    if (checking) return;
    checking = true;
    // While the state database does not respond, connections remain open.
    void check([...holders()], read, everyMs)
      .then((ids) => {
        for (const id of keys.keys()) if (!ids.has(id)) keys.delete(id);
      })
      .catch(() => {})
      .finally(() => {
        checking = false;
      });
  }, everyMs).unref();
  const forget = () => {
    forgotten += 1;
    keys.clear();
  };
  return { forget, close: () => clearInterval(timer) };
}

/** Checks the keys of connections, and resolves with the ids of the keys in use. */
async function check(holders: readonly Held[], key: ReadKey, everyMs: number): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const { principal, connectedAt, end } of holders) {
    if (principal.expiresAt !== undefined) endAt(principal.expiresAt, end, everyMs);
    if (principal.kind !== 'api-key') continue;
    ids.add(principal.id);
    if (!isGood(await key(principal.id), connectedAt)) end();
  }
  return ids;
}

/** Ends a connection that expires before the next check. */
function endAt(expiresAt: number, end: () => void, everyMs: number): void {
  const left = expiresAt - Date.now();
  if (left <= 0) end();
  else if (left <= everyMs) setTimeout(end, left).unref();
}

function isGood(key: StoredApiKey | undefined, since: number): boolean {
  return key !== undefined && keyStatus(key) === 'active' && (key.rotatedAt ?? 0) <= since;
}
