import Type, { type Static } from 'typebox';
import { formatFieldError } from '../../core/errors/field-errors.js';
import { problem, requireSound } from '../../core/http/body-problems.js';
import type { Principal } from '../../core/http/operation.js';
import type { Services } from '../admin/deps.js';
import { timestamp } from '../admin/envelope.js';
import { planChanges, type Resource } from '../manifest/apply.js';
import { genuineProblems } from '../manifest/signature.js';
import { type Holdings, type InventoryDeps, readHoldings } from './inventory.js';
import { findPackage, gitOpsManifest, requirePackage } from './packages.js';
import { refusals } from './rollout.js';
import { ARTIFACT_KINDS, GitOpsManifest, PackageRecord } from './schemas.js';

/** Reports all reasons why a package cannot be applied to this environment. Changes nothing. */

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const FieldOfContract = Type.Union([Text(256), Type.Object({ name: Text(256) })]);
const Contract = Type.Object({
  resources: Type.Array(
    Type.Object({
      semanticId: Text(520),
      exists: Type.Boolean(),
      fields: Type.Optional(Type.Array(FieldOfContract, { maxItems: 2000 })),
    }),
    { maxItems: 1000 },
  ),
});
const Script = Type.Object({
  scriptId: Text(256),
  title: Type.Optional(Type.String({ maxLength: 256 })),
  kind: Type.Optional(Type.String({ maxLength: 128 })),
  notes: Type.Optional(Type.String({ maxLength: 4000 })),
  reversible: Type.Boolean(),
  targetEnvironment: Type.Optional(Text(100)),
  declaredOperations: Type.Optional(Type.Array(Type.String({ maxLength: 1000 }), { maxItems: 1000 })),
  beforeContract: Type.Optional(Contract),
  afterContract: Type.Optional(Contract),
});
type Script = Static<typeof Script>;

export const PrevalidationRequest = Type.Object({
  targetEnvironment: Text(100),
  releasePackageId: Type.Optional(Text(256)),
  releasePackage: Type.Optional(Type.Union([GitOpsManifest, PackageRecord])),
  dataScripts: Type.Optional(Type.Array(Script, { maxItems: 100 })),
});

const NullableText = Type.Union([Type.String(), Type.Null()]);
const NullableNumber = Type.Union([Type.Integer(), Type.Null()]);
const Side = Type.Object({ label: Type.String(), value: NullableText });
const Kind = Type.Enum([...ARTIFACT_KINDS]);
const Finding = Type.Object({
  code: Type.String(),
  kind: Type.String(),
  severity: Type.Enum(['info', 'warning', 'error']),
  message: Type.String(),
  affectedSemanticId: Type.String(),
  affectedSemanticKind: Kind,
  affectedParentSemanticId: NullableText,
  displayName: NullableText,
  expected: Side,
  actual: Side,
  requiredAction: Type.String(),
  coverageState: Type.Enum(['not-applicable', 'uncovered', 'covered-by-script', 'unknown']),
  coveringScriptId: NullableText,
  coverageNotes: NullableText,
});
type Finding = Static<typeof Finding>;

export const Prevalidation = Type.Object({
  status: Type.Enum(['ready', 'warning', 'blocked', 'unknown']),
  canPromote: Type.Boolean(),
  canCreatePullRequest: Type.Boolean(),
  releasePackageId: NullableText,
  packageKey: NullableText,
  sourceEnvironment: NullableText,
  sourceRevision: NullableNumber,
  sourceEtag: NullableText,
  targetEnvironment: Type.String(),
  targetRevision: NullableNumber,
  targetEtag: NullableText,
  generatedAt: Type.String(),
  findings: Type.Array(Finding),
  affectedDependents: Type.Array(
    Type.Object({
      semanticId: Type.String(),
      semanticKind: Kind,
      displayName: NullableText,
      relationshipKind: NullableText,
      viaSemanticId: NullableText,
      impactSeverity: Type.Enum(['info', 'warning', 'error']),
      reason: Type.String(),
    }),
  ),
  coveredErrorCount: Type.Integer(),
  uncoveredErrorCount: Type.Integer(),
  warningCount: Type.Integer(),
  scriptCount: Type.Integer(),
  rollbackReadiness: Type.Object({
    classification: Type.Enum([
      ...['metadata-only', 'service-revision', 'script-reversible', 'snapshot-required', 'manual'],
    ]),
    reason: Type.String(),
    requiresManualAction: Type.Boolean(),
    requiresSnapshot: Type.Boolean(),
    scriptIds: Type.Array(Type.String()),
  }),
});

/** A package; without its resources where only its record was sent. */
type Document = Pick<Static<typeof GitOpsManifest>, 'metadata' | 'spec'> & {
  readonly whole?: Static<typeof GitOpsManifest>;
};

/** Throws `invalid-body` where not exactly one package is named, `not-found` for one that is not there. */
export async function prevalidation(
  request: Static<typeof PrevalidationRequest>,
  principal: Principal,
  deps: InventoryDeps,
): Promise<Static<typeof Prevalidation>> {
  const document = await loadPackage(request, deps);
  const scripts = (request.dataScripts ?? []).filter(
    ({ targetEnvironment = request.targetEnvironment }) => targetEnvironment === request.targetEnvironment,
  );
  const isHere = request.targetEnvironment === deps.releases.environment;
  const holdings = isHere ? await readHoldings(deps) : undefined;
  const findings = holdings
    ? await listFindings(document, scripts, holdings, principal, deps)
    : [elsewhere(request)];
  const errors = findings.filter(({ severity }) => severity === 'error');
  const covered = errors.filter(({ coverageState }) => coverageState === 'covered-by-script').length;
  const warnings = findings.filter(({ severity }) => severity === 'warning').length;
  const open = errors.length - covered;
  const { source } = document.spec;
  return {
    status: !holdings ? 'unknown' : open > 0 ? 'blocked' : covered + warnings > 0 ? 'warning' : 'ready',
    canPromote: holdings !== undefined && errors.length === 0,
    canCreatePullRequest: holdings !== undefined && open === 0,
    releasePackageId: document.spec.packageId,
    packageKey: document.metadata.name,
    sourceEnvironment: source.environment,
    sourceRevision: source.revision,
    sourceEtag: source.etag,
    targetEnvironment: request.targetEnvironment,
    targetRevision: holdings?.revision ?? null,
    targetEtag: holdings?.etag ?? null,
    generatedAt: timestamp(Date.now()),
    findings,
    affectedDependents: holdings ? listDependents(errors, holdings) : [],
    coveredErrorCount: covered,
    uncoveredErrorCount: open,
    warningCount: warnings,
    scriptCount: scripts.length,
    rollbackReadiness: buildRollback(scripts),
  };
}

async function loadPackage(
  { releasePackageId: id, releasePackage: document }: Static<typeof PrevalidationRequest>,
  deps: Services<'releases' | 'state'>,
): Promise<Document> {
  const isOne = (id === undefined) !== (document === undefined);
  requireSound([
    isOne ? undefined : problem('releasePackageId', 'is required, or releasePackage, but not both'),
  ]);
  if (document === undefined) return wholePackage(gitOpsManifest(await requirePackage(id!, deps), deps));
  if ('spec' in document) return wholePackage(document);
  const stored = await findPackage(document.packageId, deps);
  return stored ? wholePackage(gitOpsManifest(stored, deps)) : packageWithout(document);
}

const wholePackage = (whole: Static<typeof GitOpsManifest>): Document => ({ ...whole, whole });

/** The package of a record that another server showed. */
function packageWithout({ packageId, metadata, entries, ...record }: Static<typeof PackageRecord>): Document {
  const { sourceEnvironment: environment, sourceRevision: revision, sourceEtag: etag } = record;
  const targets = record.targetEnvironments.map((one) => ({ environment: one }));
  return { metadata, spec: { packageId, source: { environment, revision, etag }, targets, entries } };
}

async function listFindings(
  document: Document,
  scripts: readonly Script[],
  holdings: Holdings,
  principal: Principal,
  deps: InventoryDeps,
): Promise<Finding[]> {
  const package_ = { ...about('catalog', `Catalog/${deps.releases.environment}`), displayName: null };
  const { whole } = document;
  const forged = whole
    ? genuineProblems(whole, whole.resources, deps.releases).map((error) =>
        finding(
          'package-refused',
          formatFieldError(error),
          package_,
          'Use the package as its source sends it.',
        ),
      )
    : [recordOnly(package_)];
  const irreversible = scripts
    .filter(({ reversible }) => !reversible)
    .map(
      ({ scriptId }): Finding => ({
        ...finding(
          'script-irreversible',
          `${scriptId} cannot be undone`,
          package_,
          'Back up the data first.',
        ),
        severity: 'warning',
      }),
    );
  const data = document.spec.entries.flatMap((entry) => dataFinding(entry, scripts, holdings));
  const objects = whole ? await objectFindings(whole, principal, deps) : [];
  return [...forged, ...data, ...objects, ...irreversible];
}

function recordOnly(whom: ReturnType<typeof about>): Finding {
  const message = 'The record of a package has no resources. Only its entries were compared.';
  const remedy = 'Send its gitops-manifest.';
  return { ...finding('record-only', message, whom, remedy), severity: 'warning' };
}

/** Finding for a collection or a field that the package expects. */
function dataFinding(
  entry: Document['spec']['entries'][number],
  scripts: readonly Script[],
  { artifacts }: Holdings,
): Finding[] {
  const { semanticId, artifactKind, resourceType } = entry;
  if (resourceType !== 'Collection' && artifactKind !== 'field') return [];
  const source = entry.sourceField as {
    fieldName: string;
    fieldType: string;
    parentResourceId: string;
  } | null;
  const here = artifacts.find((one) => one.semanticId === semanticId);
  const parent = source?.parentResourceId ?? null;
  const whom = { ...about(artifactKind, semanticId), affectedParentSemanticId: parent };
  if (here && (!source || source.fieldType === here.field?.type)) return [];
  const [code, message] = here
    ? ['field-type', `${semanticId} has another type here`]
    : [source ? 'field-missing' : 'resource-missing', `${semanticId} is not here`];
  const one = finding(code!, message!, whom, 'Change the data, and say by which script.');
  const script = scripts.find((script) => covers(script, semanticId, source));
  return [
    {
      ...one,
      expected: { label: semanticId, value: source?.fieldType ?? 'present' },
      actual: { label: semanticId, value: here?.field?.type ?? null },
      ...(script
        ? { coverageState: 'covered-by-script' as const, coveringScriptId: script.scriptId }
        : { coverageState: 'uncovered' as const }),
    },
  ];
}

/** Whether a script says that the thing is there when it has run. */
function covers(
  { afterContract }: Script,
  semanticId: string,
  source: { fieldName: string; parentResourceId: string } | null,
): boolean {
  return (afterContract?.resources ?? []).some(({ semanticId: id, exists, fields = [] }) => {
    if (!exists) return false;
    if (!source) return id === semanticId;
    const names = fields.map((field) => (typeof field === 'string' ? field : field.name));
    return id === source.parentResourceId && names.includes(source.fieldName);
  });
}

/** Reasons for which applying the objects would be refused. */
async function objectFindings(
  { resources }: Static<typeof GitOpsManifest>,
  principal: Principal,
  deps: InventoryDeps,
): Promise<Finding[]> {
  const objects = resources as Resource[];
  try {
    await planChanges(objects, { prune: false, principal }, deps);
    return [];
  } catch (error) {
    const errors = refusals(error, objects);
    if (!errors) throw error;
    return errors.map(({ id = `Catalog/${deps.releases.environment}`, detail }) => {
      const message = `${id}: ${detail}`;
      return finding(
        'object-refused',
        message,
        about('resource', id),
        'Make what it stands on, or leave it out.',
      );
    });
  }
}

const about = (kind: Finding['affectedSemanticKind'], id: string) => ({
  affectedSemanticId: id,
  affectedSemanticKind: kind,
  affectedParentSemanticId: null as string | null,
});

function finding(
  code: string,
  message: string,
  whom: ReturnType<typeof about>,
  requiredAction: string,
): Finding {
  const nothing = { label: whom.affectedSemanticId, value: null };
  return {
    code: `metadata.compat.${code}`,
    kind: code,
    severity: 'error',
    message,
    ...whom,
    requiredAction,
    displayName: null,
    expected: nothing,
    actual: nothing,
    coverageState: 'not-applicable',
    coveringScriptId: null,
    coverageNotes: null,
  };
}

function elsewhere({ targetEnvironment }: { targetEnvironment: string }): Finding {
  const whom = about('catalog', `Catalog/${targetEnvironment}`);
  const message = `${targetEnvironment} is another server`;
  return finding(
    'environment-unavailable',
    message,
    whom,
    'Ask that server, with the manifest of the package.',
  );
}

function listDependents(errors: readonly Finding[], { artifacts }: Holdings) {
  const reasons = new Map(errors.map((one) => [one.affectedSemanticId, one.message]));
  return artifacts
    .filter(({ parent }) => parent !== null && reasons.has(parent))
    .map(({ semanticId, artifactKind, title, parent }) => ({
      semanticId,
      semanticKind: artifactKind,
      displayName: title,
      relationshipKind: 'part-of',
      viaSemanticId: parent,
      impactSeverity: 'error' as const,
      reason: reasons.get(parent!)!,
    }));
}

function buildRollback(scripts: readonly Script[]): Static<typeof Prevalidation>['rollbackReadiness'] {
  const scriptIds = scripts.map(({ scriptId }) => scriptId);
  const none = { requiresManualAction: false, requiresSnapshot: false, scriptIds };
  if (scripts.length === 0)
    return { classification: 'metadata-only', reason: 'Only metadata changes.', ...none };
  if (scripts.every(({ reversible }) => reversible))
    return {
      classification: 'script-reversible',
      reason: 'All scripts can be undone.',
      ...none,
      requiresManualAction: true,
    };
  return {
    classification: 'snapshot-required',
    reason: 'A script cannot be undone.',
    scriptIds,
    requiresManualAction: true,
    requiresSnapshot: true,
  };
}
