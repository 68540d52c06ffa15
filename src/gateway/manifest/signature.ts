import { timingSafeEqual } from 'node:crypto';
import { type BodyProblem, problem, requireSound } from '../../core/http/body-problems.js';
import { computeSignature } from '../../core/values/signature.js';
import type { AdminDeps } from '../admin/deps.js';
import { fingerprint } from './apply.js';

/** Members of a release package other than its resources. */
export interface Head {
  readonly metadata: object;
  readonly spec: { readonly targets: readonly { readonly environment: string }[] };
  readonly digest: string;
  readonly signature?: string | null | undefined;
}

/** SHA-256 of the contents of a package, independent of the order of members. */
export function computePackageDigest(
  { metadata, spec }: Pick<Head, 'metadata' | 'spec'>,
  resources: unknown,
): string {
  return `sha256:${fingerprint({ metadata, spec, resources })}`;
}

/**
 * Throws `invalid-body` for a package that was modified, has another signature than this server creates, or is for
 * other targets.
 */
export function requireGenuine(head: Head, resources: unknown, releases: AdminDeps['releases']): void {
  requireSound(
    genuineProblems(head, resources, releases).map(({ name, detail }) => problem(`release${name}`, detail)),
  );
}

/** Problems with the digest, the signature and the targets of a package, by members of its document. */
export function genuineProblems(
  head: Head,
  resources: unknown,
  { environment, key }: AdminDeps['releases'],
): BodyProblem[] {
  const { targets } = head.spec;
  const isForHere = targets.length === 0 || targets.some((target) => target.environment === environment);
  return [
    head.digest === computePackageDigest(head, resources)
      ? undefined
      : problem('digest', 'does not match the package, which was changed. Request the package again'),
    signatureProblem(head, key),
    isForHere
      ? undefined
      : problem('spec/targets', `must name the environment of this server, ${environment}`),
  ].filter((one) => one !== undefined);
}

function signatureProblem({ digest, signature }: Head, key: string) {
  if (key === '')
    return signature
      ? problem('signature', 'cannot be checked, because releases.key is not set on this server')
      : undefined;
  const expected = Buffer.from(computeSignature(digest, key)!);
  const actual = Buffer.from(signature ?? '');
  return actual.length === expected.length && timingSafeEqual(actual, expected)
    ? undefined
    : problem('signature', 'was not signed with releases.key of this server');
}
