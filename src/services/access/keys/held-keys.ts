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
  for (const { principal, end } of [...holders]) if (principal.id === keyId) end();
}

/**
 * Ends the connections of those who have other rights by now: their roles give others, or they were changed themselves, or
 * what they came with was ended.
 * Those of certificates end with each change of what is believed of certificates, and are let in again or not.
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

/** How long a connection may outlive the end of its key. */
const CHECK_MS = 5000;
/** How long a key that was read is valid. Announcements report keys that are revoked or get another secret. */
const VALID_MS = 60_000;

type ReadKey = (id: string) => Promise<StoredApiKey | undefined>;

/** Watches the keys of open connections. */
export interface HeldKeys {
  /** Reads all keys again at the next check. */
  forget(): void;
  close(): void;
}

/**
 * Ends connections whose key has been revoked, has expired or got another secret since they were opened: a request is
 * asked for its key each time, a stream only once.
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
    // While the state database does not answer, what is open stays open.
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

/** Resolves with the keys that are held. */
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
