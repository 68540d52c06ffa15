import type { Static } from 'typebox';
import { formatFieldError } from '../../core/errors/field-errors.js';
import { problem, requireSound } from '../../core/http/body-problems.js';
import type { Principal } from '../../core/http/operation.js';
import type { Services } from '../admin/deps.js';
import { timestamp } from '../admin/envelope.js';
import { planChanges, type Resource } from '../manifest/apply.js';
import { genuineProblems } from '../manifest/signature.js';
import { type Holdings, type InventoryDeps, readHoldings } from './inventory.js';
import { findPackage, gitOpsManifest, requirePackage } from './packages.js';
import type {
  CompatibilityFinding,
  PrevalidationRequest,
  PrevalidationSchema,
  Script,
} from './prevalidation-schemas.js';
import { refusals } from './rollout.js';
import type { GitOpsManifest, PackageRecord } from './schemas.js';

/** Reports all reasons why a package cannot be applied to this environment. Changes nothing. */

/** A release package. */
type PackageDocument = Pick<Static<typeof GitOpsManifest>, 'metadata' | 'spec'> & {
  /** Undefined if only the record of the package is known, which has no resources. */
  readonly manifest?: Static<typeof GitOpsManifest>;
};

/**
 * Checks a package against this environment. Throws `invalid-body` unless the request names exactly one package, and
 * `not-found` if the package does not exist.
 */
export async function prevalidatePackage(
  request: Static<typeof PrevalidationRequest>,
  principal: Principal,
  deps: InventoryDeps,
): Promise<Static<typeof PrevalidationSchema>> {
  const document = await loadPackage(request, deps);
  const scripts = (request.dataScripts ?? []).filter(
    ({ targetEnvironment = request.targetEnvironment }) => targetEnvironment === request.targetEnvironment,
  );
  const isHere = request.targetEnvironment === deps.releases.environment;
  const holdings = isHere ? await readHoldings(deps) : undefined;
  const findings = holdings
    ? await listFindings(document, scripts, holdings, principal, deps)
    : [otherEnvironmentFinding(request)];
  const errors = findings.filter(({ severity }) => severity === 'error');
  const covered = errors.filter(({ coverageState }) => coverageState === 'covered-by-script').length;
  const warnings = findings.filter(({ severity }) => severity === 'warning').length;
  const open = errors.length - covered;
  const { source } = document.spec;
  return {
    status: holdings ? chooseStatus(open, covered + warnings) : 'unknown',
    // A promotion needs data without errors. A pull request can contain the scripts that cover them.
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

function chooseStatus(errors: number, warnings: number): 'blocked' | 'warning' | 'ready' {
  if (errors > 0) return 'blocked';
  return warnings > 0 ? 'warning' : 'ready';
}

async function loadPackage(
  { releasePackageId: id, releasePackage: document }: Static<typeof PrevalidationRequest>,
  deps: Services<'releases' | 'state'>,
): Promise<PackageDocument> {
  const isOne = (id === undefined) !== (document === undefined);
  requireSound([
    isOne ? undefined : problem('releasePackageId', 'is required, or releasePackage, but not both'),
  ]);
  if (document === undefined) return completePackage(gitOpsManifest(await requirePackage(id!, deps), deps));
  if ('spec' in document) return completePackage(document);
  const stored = await findPackage(document.packageId, deps);
  return stored ? completePackage(gitOpsManifest(stored, deps)) : recordPackage(document);
}

const completePackage = (manifest: Static<typeof GitOpsManifest>): PackageDocument => ({
  ...manifest,
  manifest,
});

/** The package of a record that another server returned. */
function recordPackage({
  packageId,
  metadata,
  entries,
  ...record
}: Static<typeof PackageRecord>): PackageDocument {
  const { sourceEnvironment: environment, sourceRevision: revision, sourceEtag: etag } = record;
  const targets = record.targetEnvironments.map((one) => ({ environment: one }));
  return { metadata, spec: { packageId, source: { environment, revision, etag }, targets, entries } };
}

async function listFindings(
  document: PackageDocument,
  scripts: readonly Script[],
  holdings: Holdings,
  principal: Principal,
  deps: InventoryDeps,
): Promise<CompatibilityFinding[]> {
  const packageSubject = {
    ...createSubject('catalog', `Catalog/${deps.releases.environment}`),
    displayName: null,
  };
  const { manifest } = document;
  const signatureFindings = manifest
    ? genuineProblems(manifest, manifest.resources, deps.releases).map((error) =>
        finding(
          'package-refused',
          formatFieldError(error),
          packageSubject,
          'Use the package as its source sends it.',
        ),
      )
    : [recordOnly(packageSubject)];
  const irreversible = scripts
    .filter(({ reversible }) => !reversible)
    .map(
      ({ scriptId }): CompatibilityFinding => ({
        ...finding(
          'script-irreversible',
          `${scriptId} cannot be undone`,
          packageSubject,
          'Back up the data first.',
        ),
        severity: 'warning',
      }),
    );
  const data = document.spec.entries.flatMap((entry) => dataFinding(entry, scripts, holdings));
  const objects = manifest ? await objectFindings(manifest, principal, deps) : [];
  return [...signatureFindings, ...data, ...objects, ...irreversible];
}

function recordOnly(subject: ReturnType<typeof createSubject>): CompatibilityFinding {
  const message = 'The record of a package has no resources. Only its entries were compared.';
  const remedy = 'Send its gitops-manifest.';
  return { ...finding('record-only', message, subject, remedy), severity: 'warning' };
}

/** Finding for an entry that is a collection or a field of it. `objectFindings` checks the other entries. */
function dataFinding(
  entry: PackageDocument['spec']['entries'][number],
  scripts: readonly Script[],
  { artifacts }: Holdings,
): CompatibilityFinding[] {
  const { semanticId, artifactKind, resourceType } = entry;
  if (resourceType !== 'Collection' && artifactKind !== 'field') return [];
  const source = entry.sourceField as {
    fieldName: string;
    fieldType: string;
    parentResourceId: string;
  } | null;
  const here = artifacts.find((one) => one.semanticId === semanticId);
  const parent = source?.parentResourceId ?? null;
  const subject = { ...createSubject(artifactKind, semanticId), affectedParentSemanticId: parent };
  if (here && (!source || source.fieldType === here.field?.type)) return [];
  const [code, message] = here
    ? ['field-type', `${semanticId} has another type here`]
    : [source ? 'field-missing' : 'resource-missing', `${semanticId} is not here`];
  const one = finding(code!, message!, subject, 'Add a data script whose afterContract contains it.');
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

/** Whether the contract of a script promises the resource or field after the script has run. */
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

/** Reasons why this environment would refuse the objects. */
async function objectFindings(
  { resources }: Static<typeof GitOpsManifest>,
  principal: Principal,
  deps: InventoryDeps,
): Promise<CompatibilityFinding[]> {
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
        createSubject('resource', id),
        'Create the objects that it depends on, or remove it from the package.',
      );
    });
  }
}

const createSubject = (kind: CompatibilityFinding['affectedSemanticKind'], id: string) => ({
  affectedSemanticId: id,
  affectedSemanticKind: kind,
  affectedParentSemanticId: null as string | null,
});

function finding(
  code: string,
  message: string,
  subject: ReturnType<typeof createSubject>,
  requiredAction: string,
): CompatibilityFinding {
  const nothing = { label: subject.affectedSemanticId, value: null };
  return {
    code: `metadata.compat.${code}`,
    kind: code,
    severity: 'error',
    message,
    ...subject,
    requiredAction,
    displayName: null,
    expected: nothing,
    actual: nothing,
    coverageState: 'not-applicable',
    coveringScriptId: null,
    coverageNotes: null,
  };
}

function otherEnvironmentFinding({ targetEnvironment }: { targetEnvironment: string }): CompatibilityFinding {
  const subject = createSubject('catalog', `Catalog/${targetEnvironment}`);
  const message = `${targetEnvironment} is another server`;
  return finding(
    'environment-unavailable',
    message,
    subject,
    'Prevalidate the manifest of the package on that server.',
  );
}

function listDependents(errors: readonly CompatibilityFinding[], { artifacts }: Holdings) {
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

function buildRollback(scripts: readonly Script[]): Static<typeof PrevalidationSchema>['rollbackReadiness'] {
  const scriptIds = scripts.map(({ scriptId }) => scriptId);
  const none = { requiresManualAction: false, requiresSnapshot: false, scriptIds };
  if (scripts.length === 0)
    return { classification: 'metadata-only', reason: 'Only metadata changes.', ...none };
  if (scripts.every(({ reversible }) => reversible))
    return {
      classification: 'script-reversible',
      reason: 'All scripts can be undone.',
      ...none,
      // The server runs no script, so an operator must undo it.
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
