import type { Principal } from '../../core/http/operation.js';
import type { Field } from '../../core/sources/vector-source.js';
import { formatDecimal, isExactNumber } from '../../core/values/exact-number.js';
import { resolveCrs } from '../../native/crs.js';
import { permits } from '../access/permissions.js';
import type { Catalogs, CollectionView } from '../features/view.js';
import { findProcess } from '../processes/catalogue/index.js';
import { finding, listErrorFindings, malformed, type PackageFinding, passed } from './findings.js';
import { readView } from './readable.js';

/** Requirements that a package declares in addition to its payload. */
export type PackageRequirements = Readonly<
  Record<string, readonly Readonly<Record<string, unknown>>[] | undefined>
>;

export const REQUIREMENT_KINDS = [
  ...(['approvals', 'capabilities', 'crs', 'dataBindings', 'dependencies', 'domains'] as const),
  ...(['fields', 'formats', 'geometry', 'permissions', 'schemas', 'temporal'] as const),
] as const;
type RequirementKind = (typeof REQUIREMENT_KINDS)[number];

type Requirement = Readonly<Record<string, unknown>>;

interface Requester {
  readonly principal: Principal;
  readonly deps: Catalogs;
  /** Media types of features that the server writes. */
  readonly formats: readonly string[];
}

/** Judges a requirement. Returns the reason why it is not met; undefined if it is met. */
type Judge = (
  requirement: Requirement,
  requester: Requester,
) => Pick<PackageFinding, 'category' | 'message'> | undefined | 'unsupported';

/** Findings about the requirements of a package, by the rights of its caller. */
export function judgeRequirements(requirements: PackageRequirements, requester: Requester): PackageFinding[] {
  return Object.entries(requirements).flatMap(([kind, all = []]) =>
    all.flatMap((one, i) => {
      const path = `/requirements/${kind}/${i}`;
      return isKind(kind) ? judge(kind, one, path, requester) : [unsupported(kind, path)];
    }),
  );
}

function judge(
  kind: RequirementKind,
  requirement: Requirement,
  path: string,
  requester: Requester,
): PackageFinding[] {
  const artifact = { kind: 'requirement', path };
  if (kind === 'approvals')
    return [
      finding({
        ...{ code: 'package.approval.required', category: 'approval', severity: 'warning' },
        ...{ disposition: 'requires_approval', message: 'The package declares that it needs an approval.' },
        affectedArtifact: artifact,
      }),
    ];
  try {
    const result = JUDGES[kind](requirement, requester);
    if (result === undefined) return [passed(CATEGORIES[kind], `${path} is met.`, artifact)];
    if (result === 'unsupported') return [unsupported(kind, path)];
    return [finding({ code: 'package.requirement.unmet', ...result, affectedArtifact: artifact })];
  } catch (error) {
    if (error instanceof MissingMember)
      return [malformed(path, `${path} needs the member ${error.message}.`)];
    return listErrorFindings(error, artifact);
  }
}

const isKind = (kind: string): kind is RequirementKind =>
  (REQUIREMENT_KINDS as readonly string[]).includes(kind);

const unsupported = (kind: string, path: string): PackageFinding =>
  finding({
    ...{ code: 'package.capability.unsupported', category: 'capability', severity: 'warning' },
    ...{ disposition: 'unsupported', appliesTo: 'review' },
    message: `This server cannot judge requirements of the kind ${kind.slice(0, 60)} in this form.`,
    affectedArtifact: { kind: 'requirement', path },
  });

const CATEGORIES = {
  approvals: 'approval',
  capabilities: 'capability',
  crs: 'crs',
  dataBindings: 'data_binding',
  dependencies: 'dependency',
  domains: 'domain',
  fields: 'field',
  formats: 'format',
  geometry: 'geometry',
  permissions: 'permission',
  schemas: 'schema',
  temporal: 'temporal',
} as const satisfies Record<RequirementKind, PackageFinding['category']>;

const JUDGES: Readonly<Record<Exclude<RequirementKind, 'approvals'>, Judge>> = {
  capabilities(requirement) {
    const id = text(requirement, ['processId', 'id', 'name']);
    if (findProcess(id)) return undefined;
    return { category: 'capability', message: `There is no process '${id.slice(0, 100)}'.` };
  },
  crs(requirement, requester) {
    const crs = resolveCrs('crs', text(requirement, ['crs', 'id', 'uri']));
    if (requirement['collection'] === undefined) return undefined;
    const { visible } = viewOf(requirement, requester);
    if (visible.crs.some(({ uri }) => uri === crs.uri)) return undefined;
    return { category: 'crs', message: `${visible.id} does not offer ${crs.uri}.` };
  },
  dataBindings(requirement, requester) {
    viewOf(requirement, requester);
    return undefined;
  },
  dependencies: () => 'unsupported',
  domains(requirement, requester) {
    const { field, view } = fieldOf(requirement, requester);
    if (!field) return noField(requirement, view);
    const { code } = requirement;
    const codes = field.enumeration?.map(String);
    if (codes === undefined || code === undefined) return 'unsupported';
    const wanted = isExactNumber(code) ? formatDecimal(code) : String(code);
    if (codes.includes(wanted)) return undefined;
    return { category: 'domain', message: `'${wanted.slice(0, 60)}' is not a code of ${field.name}.` };
  },
  fields(requirement, requester) {
    const { field, view } = fieldOf(requirement, requester);
    if (!field) return noField(requirement, view);
    const { type } = requirement;
    if (type === undefined || type === field.type) return undefined;
    return { category: 'field', message: `${field.name} has the type ${field.type}.` };
  },
  formats(requirement, { formats }) {
    const format = text(requirement, ['mediaType', 'format']);
    if (formats.includes(format)) return undefined;
    return { category: 'format', message: `The server writes no features as '${format.slice(0, 60)}'.` };
  },
  geometry(requirement, requester) {
    const wanted = text(requirement, ['geometryType', 'type']);
    const { visible } = viewOf(requirement, requester);
    const { geometryType } = visible.source;
    if ([wanted, 'Geometry'].includes(geometryType)) return undefined;
    return { category: 'geometry', message: `${visible.id} has geometries of the type ${geometryType}.` };
  },
  permissions(requirement, { principal }) {
    const permission = text(requirement, ['permission', 'id', 'name']);
    if (permits(principal, permission)) return undefined;
    return { category: 'permission', message: `The caller does not have '${permission.slice(0, 100)}'.` };
  },
  schemas: () => 'unsupported',
  temporal(requirement, requester) {
    const view = viewOf(requirement, requester);
    const names = requirement['field'] === undefined ? undefined : text(requirement, ['field']);
    const times = view.queryables.filter(({ type }) => type === 'date' || type === 'date-time');
    if (times.some(({ name }) => names === undefined || name === names)) return undefined;
    return { category: 'temporal', message: `${view.visible.id} has no such field of dates or times.` };
  },
};

class MissingMember extends Error {}

function text(requirement: Requirement, names: readonly string[]): string {
  for (const name of names) {
    const value = requirement[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  throw new MissingMember(names.join(' or '));
}

function viewOf(requirement: Requirement, { principal, deps }: Requester): CollectionView {
  return readView(deps, principal, text(requirement, ['collection', 'sourceId', 'id']));
}

function fieldOf(
  requirement: Requirement,
  requester: Requester,
): { view: CollectionView; field: Field | undefined } {
  const name = text(requirement, ['field', 'name']);
  const view = readView(requester.deps, requester.principal, text(requirement, ['collection', 'sourceId']));
  return { view, field: view.fields.find((field) => field.name === name) };
}

function noField(requirement: Requirement, { visible }: CollectionView) {
  const name = text(requirement, ['field', 'name']);
  return {
    category: 'field' as const,
    message: `${visible.id} has no field '${name.slice(0, 60)}'.`,
  };
}
