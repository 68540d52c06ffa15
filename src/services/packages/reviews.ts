import { isDrawable } from '../../core/catalog/abilities.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import { ApiError } from '../../core/errors/errors.js';
import { suggestName } from '../../core/errors/near-names.js';
import type { Principal } from '../../core/http/operation.js';
import { StyleError } from '../../core/styles/check.js';
import type { AccessPolicy } from '../access/access.js';
import { permits } from '../access/permissions.js';
import { PROCESS_PERMISSIONS } from '../access/rules/policy.js';
import { editTarget } from '../edits/target.js';
import type { Catalogs, CollectionView } from '../features/view.js';
import type { ProcessDefinition } from '../processes/definition.js';
import type { Execution } from '../processes/execution.js';
import type { Processes } from '../processes/service.js';
import type { Styles } from '../styles/index.js';
import { finding, listErrorFindings, newReviewId, type PackageFinding, passed } from './findings.js';
import { PACKAGE_FAMILIES, type PackageFamily, type PackageUse, readPackagePayload } from './payloads.js';
import { readView, requireReadable } from './readable.js';
import { judgeRequirements, type PackageRequirements } from './requirements.js';

export const PACKAGE_CONTRACT = 'svc.package_review.v1';

export interface PackageReviewsDeps extends Catalogs {
  readonly access: AccessPolicy;
  readonly processes: Pick<Processes, 'listRead' | 'review'>;
  readonly styles: Pick<Styles, 'check'>;
  /** Media types of features that the server writes. */
  readonly formats: readonly string[];
  /** Checks parameters of a query as the operation that reads features does. Throws 400. */
  checkQuery(view: CollectionView, parameters: Readonly<Record<string, unknown>>): void;
  /** Reads an execution as the operation that executes processes does. Throws 400 and 404. */
  readExecution(
    process: string,
    body: Readonly<Record<string, unknown>>,
    caller: PackageCaller,
  ): { readonly process: ProcessDefinition; readonly execution: Execution };
}

export interface PackageCaller {
  readonly principal: Principal;
  readonly baseUrl: string;
  readonly requestId: string;
}

export interface PackageReviewRequest {
  readonly packageFamily?: string | undefined;
  readonly contractVersion?: string | undefined;
  readonly packagePayload?: unknown;
  readonly requirements?: PackageRequirements | undefined;
}

/** An operation that an execution of the package would start. */
export interface PreviewedOperation {
  readonly operationId: string;
  readonly operationKind: string;
  readonly dependsOn: readonly string[];
  readonly inputRefs: readonly string[];
  readonly outputArtifactKinds: readonly string[];
  readonly requiredCapabilities: readonly string[];
}

export interface PackageReview {
  readonly reviewId: string;
  readonly status: 'ready' | 'warning' | 'blocked';
  readonly canExecute: boolean;
  readonly canPublish: boolean;
  readonly requiresApproval: boolean;
  readonly findings: readonly PackageFinding[];
  readonly operations: readonly PreviewedOperation[];
}

interface UseReview {
  readonly findings: readonly PackageFinding[];
  readonly operations: readonly PreviewedOperation[];
  /** Whether the use changes published data or styles when it is executed or published. */
  readonly isPublishing?: boolean;
}

/**
 * Reviews of packages: whether the server would accept what a package executes, with the rights of the caller. The
 * checks are those of the operations themselves. A review starts and changes nothing.
 */
export class PackageReviews {
  constructor(private readonly deps: PackageReviewsDeps) {}

  async review(request: PackageReviewRequest, caller: PackageCaller): Promise<PackageReview> {
    const { packageFamily: family, contractVersion, packagePayload, requirements = {} } = request;
    const findings: PackageFinding[] = [];
    if (contractVersion !== undefined && contractVersion !== PACKAGE_CONTRACT)
      findings.push(unknownContract(contractVersion));
    const uses = isFamily(family) ? readPackagePayload(family, packagePayload, findings) : [];
    if (!isFamily(family)) findings.push(unknownFamily(family));
    const reviews: UseReview[] = [];
    // One part at a time: a package must not occupy all workers.
    for (const use of uses) reviews.push(await this.#reviewUse(use, caller));
    findings.push(...reviews.flatMap((one) => one.findings));
    const { principal } = caller;
    findings.push(
      ...judgeRequirements(requirements, { principal, deps: this.deps, formats: this.deps.formats }),
    );
    const isPublishing = reviews.some((one) => one.isPublishing);
    if (!isPublishing) findings.push(NOTHING_TO_PUBLISH);
    const operations = reviews.flatMap((one) => one.operations);
    return { reviewId: newReviewId(), ...conclude(findings, isPublishing), findings, operations };
  }

  async #reviewUse(use: PackageUse, caller: PackageCaller): Promise<UseReview> {
    const id = use.kind === 'process' ? use.process : use.collection;
    const artifact = { kind: use.kind, id, path: use.path };
    try {
      switch (use.kind) {
        case 'query':
          return this.#reviewQuery(use, caller);
        case 'process':
          return await this.#reviewProcess(use, caller);
        case 'style':
          return await this.#reviewStyle(use, caller);
        default:
          return this.#reviewForm(use, caller);
      }
    } catch (error) {
      if (error instanceof StyleError)
        return { findings: findingsOfStyle(error, use.path, id), operations: [] };
      const isStyle = use.kind === 'style';
      const findings = listErrorFindings(error, artifact).map((one) =>
        isStyle ? { ...one, appliesTo: 'publish' as const } : one,
      );
      return { findings, operations: [], isPublishing: isStyle };
    }
  }

  #reviewQuery(use: Extract<PackageUse, { kind: 'query' }>, { principal }: PackageCaller): UseReview {
    const view = readView(this.deps, principal, use.collection);
    this.deps.checkQuery(view, use.parameters);
    const artifact = { kind: 'query', id: use.collection, path: use.path };
    return {
      findings: [passed('data_binding', `The query of ${view.visible.id} is valid.`, artifact)],
      operations: [
        {
          ...{ operationId: `query${use.path}`, operationKind: 'queryFeatures', dependsOn: [] },
          ...{ inputRefs: [view.visible.id], outputArtifactKinds: ['features'], requiredCapabilities: [] },
        },
      ],
    };
  }

  async #reviewProcess(
    use: Extract<PackageUse, { kind: 'process' }>,
    caller: PackageCaller,
  ): Promise<UseReview> {
    const { principal } = caller;
    if (!permits(principal, PROCESS_PERMISSIONS.execute))
      throw new ApiError('forbidden', `The caller needs the permission ${PROCESS_PERMISSIONS.execute}.`);
    const { process, execution } = this.deps.readExecution(use.process, use.body, caller);
    for (const id of this.deps.processes.listRead(process, execution))
      requireReadable(this.deps, principal, id);
    const gated = await this.deps.processes.review(process, execution, principal);
    const artifact = { kind: 'process', id: process.id, path: use.path };
    const isPublishing = Object.values(execution.outputs).some(({ publish }) => publish !== undefined);
    const findings =
      gated === undefined
        ? [passed('schema', `The execution of ${process.id} is valid.`, artifact)]
        : [
            finding({
              ...{ code: 'package.approval.required', category: 'approval' as const },
              ...{ disposition: 'requires_approval' as const, affectedArtifact: artifact },
              message: `Another user must approve executions of ${gated}.`,
              requiredAction: { actionKind: 'approve', targetPath: use.path, title: 'Execute, then approve' },
            }),
          ];
    return { findings, operations: listOperations(process, execution, use.path), isPublishing };
  }

  async #reviewStyle(
    use: Extract<PackageUse, { kind: 'style' }>,
    { principal }: PackageCaller,
  ): Promise<UseReview> {
    const collection = requireReadable(this.deps, principal, use.collection);
    if (!isDrawable(collection)) throw withoutSurface('map layer', collection);
    await this.deps.styles.check(collection, use.style);
    if (!permits(principal, STYLE_PERMISSION))
      throw new ApiError('forbidden', `The caller needs the permission ${STYLE_PERMISSION}.`);
    const artifact = { kind: 'style', id: collection.id, path: use.path };
    const findings = [passed('schema', `The style of ${collection.id} can be drawn.`, artifact)];
    return { findings, operations: [], isPublishing: true };
  }

  #reviewForm(
    use: Extract<PackageUse, { kind: 'form' }>,
    { principal, requestId }: PackageCaller,
  ): UseReview {
    const view = readView(this.deps, principal, use.collection);
    const editor = { principal, protocol: 'OGC-Features', requestId, acceptsLoss: false };
    const { task } = editTarget(this.deps, editor, view);
    const writable = view.queryables.filter(
      ({ name, generated }) => !generated && (task.writable?.includes(name) ?? true),
    );
    const names = writable.map(({ name }) => name);
    const findings = use.fields.flatMap((name, i) => {
      if (names.includes(name)) return [];
      const path = `${use.path}/fields/${i}`;
      return [
        finding({
          ...{ code: 'package.field.missing', category: 'field' as const },
          message: `${view.visible.id} has no field '${name.slice(0, 60)}' that the caller can write.${suggestName(name, names)}`,
          affectedArtifact: { kind: 'field', id: name, path },
        }),
      ];
    });
    const artifact = { kind: 'form', id: use.collection, path: use.path };
    return {
      findings: findings.length > 0 ? findings : [passed('field', 'The fields can be written.', artifact)],
      operations: [
        {
          ...{ operationId: `form${use.path}`, operationKind: 'createFeature', dependsOn: [] },
          ...{ inputRefs: [view.visible.id], outputArtifactKinds: ['feature'], requiredCapabilities: [] },
        },
      ],
    };
  }
}

const STYLE_PERMISSION = 'admin:styles:write';

const isFamily = (family: string | undefined): family is PackageFamily =>
  (PACKAGE_FAMILIES as readonly (string | undefined)[]).includes(family);

const NOTHING_TO_PUBLISH = finding({
  ...{ code: 'package.publish.nothing', category: 'capability', severity: 'info' },
  ...{ disposition: 'unsupported', appliesTo: 'publish' },
  message: 'The package has no output or style that this server would publish.',
});

function unknownFamily(family: string | undefined): PackageFinding {
  const path = '/packageFamily';
  return finding({
    ...{ code: 'package.family.unknown', category: 'capability', disposition: 'unsupported' },
    message: `The package family must be one of ${PACKAGE_FAMILIES.join(', ')}.`,
    affectedArtifact: { kind: 'package', path },
    evidence: [
      {
        ...{ kind: 'value', expected: PACKAGE_FAMILIES.join('|') },
        ...(family === undefined ? {} : { actual: family.slice(0, 100) }),
      },
    ],
  });
}

const unknownContract = (version: string): PackageFinding =>
  finding({
    ...{ code: 'package.contract.unknown', category: 'schema', disposition: 'unsupported' },
    message: `The contract version must be ${PACKAGE_CONTRACT}.`,
    affectedArtifact: { kind: 'package', path: '/contractVersion' },
    evidence: [{ kind: 'value', expected: PACKAGE_CONTRACT, actual: version.slice(0, 100) }],
  });

/** Problems of a style prevent its publication, but not drawing with the published styles. */
function findingsOfStyle({ problems }: StyleError, path: string, id: string): PackageFinding[] {
  return problems.map((problem) =>
    finding({
      ...{ code: 'package.style.invalid', category: 'schema', appliesTo: 'publish' },
      message: `${problem.path || '/'}: ${problem.detail}.`,
      affectedArtifact: { kind: 'style', id, path: `${path}${problem.path}` },
    }),
  );
}

function conclude(findings: readonly PackageFinding[], isPublishing: boolean) {
  const blockers = findings.filter(({ severity }) => severity === 'blocker');
  const blocks = (action: 'execute' | 'publish') =>
    blockers.some(({ appliesTo }) => appliesTo === 'both' || appliesTo === action);
  const isWarned = findings.some(({ severity }) => severity === 'warning');
  const status = blockers.length > 0 ? 'blocked' : isWarned ? 'warning' : 'ready';
  return {
    status: status as PackageReview['status'],
    canExecute: !blocks('execute'),
    canPublish: isPublishing && !blocks('execute') && !blocks('publish'),
    requiresApproval: findings.some(({ disposition }) => disposition === 'requires_approval'),
  };
}

/** The steps of a plan, or the one process. */
function listOperations(
  process: ProcessDefinition,
  { sources, plan }: Execution,
  path: string,
): PreviewedOperation[] {
  const steps = plan?.steps ?? [{ stepId: 'process', process: process.id, sources, dependsOn: [] }];
  const id = (stepId: string) => `${stepId}${path}`;
  return steps.map((step) => ({
    operationId: id(step.stepId),
    operationKind: 'executeProcess',
    dependsOn: step.dependsOn.map(id),
    inputRefs: Object.values(step.sources).flatMap((one) => (one.kind === 'collection' ? [one.id] : [])),
    outputArtifactKinds: plan ? ['result'] : Object.keys(process.outputs),
    requiredCapabilities: [step.process],
  }));
}
