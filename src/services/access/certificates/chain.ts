import type { Certificate } from './certificate.js';

/** Maximum number of certificates of a chain that are checked, because clients can send arbitrary chains. */
export const MAX_CHAIN = 8;

/**
 * The authorities from the issuer of a certificate up to an anchor (RFC 5280, 6.1); undefined when there is no way. An
 * anchor need not be a root, and a certificate may be an anchor itself. Constraints of names are not understood: an
 * authority that has them leads nowhere.
 */
export function pathTo(
  anchors: readonly Certificate[],
  leaf: Certificate,
  others: readonly Certificate[],
  now: number,
): readonly Certificate[] | undefined {
  if (anchors.some(({ fingerprint }) => fingerprint === leaf.fingerprint)) return [];
  return climb({ anchors, others: new Set(others.slice(0, MAX_CHAIN)), now }, leaf, []);
}

interface Climb {
  readonly anchors: readonly Certificate[];
  /**
   * Certificates that were not tried yet. Each is tried once, so many certificates that signed each other cost no
   * more.
   */
  readonly others: Set<Certificate>;
  readonly now: number;
}

function climb(
  where: Climb,
  lower: Certificate,
  below: readonly Certificate[],
): readonly Certificate[] | undefined {
  const { anchors, others, now } = where;
  const may = (upper: Certificate) => isUsable(upper, below, now) && upper.hasSigned(lower);
  const anchor = anchors.find(may);
  if (anchor) return [...below, anchor];
  for (const upper of others) {
    if (!may(upper)) continue;
    others.delete(upper);
    const path = climb(where, upper, [...below, upper]);
    if (path) return path;
  }
  return undefined;
}

function isUsable(upper: Certificate, below: readonly Certificate[], now: number): boolean {
  // Self-issued authorities do not count.
  const between = below.filter(({ issuer, subject }) => issuer !== subject).length;
  return upper.strange === undefined && upper.isValidAt(now) && between <= upper.pathLength;
}

/** The certificate that signed this one, of those at hand. */
export function findIssuer(leaf: Certificate, atHand: readonly Certificate[]): Certificate | undefined {
  return atHand.slice(0, 200).find((one) => one.hasSigned(leaf));
}
