import { randomUUID } from 'node:crypto';
import { ApiError } from '../../core/errors/errors.js';
import type { FieldError } from '../../core/errors/field-errors.js';

export const FINDING_CATEGORIES = [
  ...(['data_binding', 'permission', 'rbac', 'schema', 'field', 'domain', 'crs', 'geometry'] as const),
  ...(['temporal', 'capability', 'dependency', 'format', 'approval', 'preview'] as const),
] as const;
export const FINDING_SEVERITIES = ['blocker', 'warning', 'info', 'pass'] as const;
export const FINDING_DISPOSITIONS = [
  ...(['unresolved', 'resolved', 'auth_denied', 'unsupported', 'requires_approval'] as const),
] as const;
export const FINDING_ACTIONS = ['both', 'execute', 'publish', 'review'] as const;

type Category = (typeof FINDING_CATEGORIES)[number];

/** Part of a package that a finding is about. */
export interface PackageArtifact {
  readonly kind: string;
  readonly id?: string;
  /** JSON pointer into the payload or the requirements. */
  readonly path: string;
  readonly stepId?: string;
}

/** One result of the review of a package. */
export interface PackageFinding {
  readonly code: string;
  readonly category: Category;
  readonly severity: (typeof FINDING_SEVERITIES)[number];
  readonly disposition: (typeof FINDING_DISPOSITIONS)[number];
  readonly appliesTo: (typeof FINDING_ACTIONS)[number];
  readonly message: string;
  readonly affectedArtifact?: PackageArtifact;
  readonly requiredAction?: {
    readonly actionKind: string;
    readonly targetPath: string;
    readonly title: string;
  };
  readonly evidence: readonly {
    readonly kind: string;
    readonly expected?: string;
    readonly actual?: string;
  }[];
}

type Draft = Pick<PackageFinding, 'code' | 'category' | 'message'> & Partial<PackageFinding>;

/** A finding with defaults: an unresolved blocker of all actions. */
export function finding(draft: Draft): PackageFinding {
  return { severity: 'blocker', disposition: 'unresolved', appliesTo: 'both', evidence: [], ...draft };
}

/** A finding that a check found no problem. */
export function passed(category: Category, message: string, artifact: PackageArtifact): PackageFinding {
  return finding({
    ...{ code: 'package.check.passed', category, message, severity: 'pass', disposition: 'resolved' },
    affectedArtifact: artifact,
  });
}

/** A finding about a payload or a requirement of another form than its family has. */
export function malformed(path: string, message: string): PackageFinding {
  return finding({
    ...{ code: 'package.payload.invalid', category: 'schema', message },
    affectedArtifact: { kind: 'payload', path },
    requiredAction: { actionKind: 'correct', targetPath: path, title: 'Correct the payload' },
  });
}

const CATEGORY_BY_NAME: readonly [RegExp, Category][] = [
  [/(^|[-/.])crs$/, 'crs'],
  [/bbox|geometry|clip/, 'geometry'],
  [/datetime|time$/, 'temporal'],
  [/^(filter|sortby|properties|ids)$|field|attribute|\/by(\/|$)/, 'field'],
  [/format|mediaType/, 'format'],
];

/**
 * The findings of a check that failed with an error for the caller. Rethrows other errors, for example of a busy
 * server, because they say nothing about the package.
 */
export function listErrorFindings(error: unknown, artifact: PackageArtifact): PackageFinding[] {
  const isAbout = error instanceof ApiError && (error.status < 500 || error.code === 'not-implemented');
  if (!isAbout) throw error;
  const { status, errors } = error;
  if (errors && status === 400) return errors.map((one) => findingOfField(one, artifact));
  return [finding({ ...describe(error), message: error.message, affectedArtifact: artifact })];
}

function describe({ status }: ApiError): Pick<PackageFinding, 'code' | 'category'> & Partial<PackageFinding> {
  if (status === 401 || status === 403)
    return { code: 'package.access.denied', category: 'rbac', disposition: 'auth_denied' };
  if (status === 404 || status === 410) return { code: 'package.binding.missing', category: 'data_binding' };
  if (status === 501)
    return { code: 'package.capability.unsupported', category: 'capability', disposition: 'unsupported' };
  if (status === 409) return { code: 'package.dependency.conflict', category: 'dependency' };
  return { code: 'package.value.invalid', category: 'schema' };
}

function findingOfField({ name, detail, received }: FieldError, artifact: PackageArtifact): PackageFinding {
  const path = name.startsWith('/') ? `${artifact.path}${name}` : `${artifact.path}/${name}`;
  const [, category = 'schema' as const] = CATEGORY_BY_NAME.find(([pattern]) => pattern.test(name)) ?? [];
  return finding({
    ...{ code: 'package.value.invalid', category, message: `${name}: ${detail}.` },
    affectedArtifact: { ...artifact, path },
    requiredAction: { actionKind: 'correct', targetPath: path, title: 'Correct the value' },
    evidence: [{ kind: 'value', expected: detail, ...(received === undefined ? {} : { actual: received }) }],
  });
}

export const newReviewId = (): string => randomUUID();
