import { createHash } from 'node:crypto';
import { isExactNumber } from './exact-number.js';

/** Digests of documents from outside that the server verifies. */

export function computeFingerprint(text: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** Canonical JSON: members sorted by name, no white space (RFC 8785 for what JavaScript writes). */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isExactNumber(value)) return String(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`);
  return `{${members.join(',')}}`;
}

/** Fingerprint of a document without its member `fingerprint`. */
export function fingerprintWithin({ fingerprint: _, ...rest }: Record<string, unknown>): string {
  return computeFingerprint(canonical(rest));
}
