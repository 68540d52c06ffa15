import Type, { type Static } from 'typebox';
import { inSpan } from '../../services/telemetry/spans.js';
import {
  specApplies,
  specAppliesDone,
  specDuration,
  specNodes,
} from '../../services/telemetry/spec-metrics.js';
import { TimestampSchema, timestamp } from '../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../admin/kit.js';
import { OPEN_OBJECT } from '../admin/open-objects.js';
import { OWNERS } from '../admin/owner.js';
import { recordExport } from '../http/recorded-export.js';
import {
  API_VERSION,
  drifted,
  fingerprint,
  listResources,
  type ManifestStep,
  owners,
  planChanges,
} from './apply.js';
import { APPLY_SERVICES, carryOut } from './carry-out.js';
import { EXACT_MANIFEST_MEMBERS } from './schemas.js';
import { requireGenuine } from './signature.js';

const SERVICES = [...APPLY_SERVICES, 'releases'] as const;
const { action, report } = createRowBuilders(SERVICES);

/** The management state as one document: export it, plan changes from a document, and apply them. */

const MAX_RESOURCES = 10_000;
const MAX_BYTES = 64 << 20;

const ResourceSchema = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.String(),
  metadata: Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }),
  spec: Type.Object({}),
});

const ManifestSchema = Type.Object({
  apiVersion: Type.String(),
  generatedAt: TimestampSchema,
  resources: Type.Array(ResourceSchema),
  driftedResources: Type.Array(
    Type.Object({ kind: Type.String(), namespace: Type.Null(), name: Type.String() }),
  ),
  owners: Type.Array(
    Type.Object({ kind: Type.String(), name: Type.String(), owner: Type.Enum([...OWNERS]) }),
    {
      description: 'Owners of all objects, including objects of the configuration, which are not resources.',
    },
  ),
  manifestHash: Type.String(),
});

/** Members of a release package other than its resources. The digest covers all of them. */
const Target = Type.Object({ environment: Type.String() }, OPEN_OBJECT);
const ReleaseHead = Type.Object({
  metadata: Type.Object({}),
  spec: Type.Object({ targets: Type.Array(Target) }, OPEN_OBJECT),
  digest: Type.String(),
  signature: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

const ApplyBody = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  resources: Type.Array(ResourceSchema, { maxItems: MAX_RESOURCES }),
  dryRun: Type.Optional(Type.Boolean()),
  prune: Type.Optional(Type.Boolean()),
  release: Type.Optional(ReleaseHead),
});

const ApplyResult = Type.Object({
  dryRun: Type.Boolean(),
  summary: Type.Object({
    created: Type.Integer(),
    updated: Type.Integer(),
    deleted: Type.Integer(),
    skipped: Type.Integer(),
  }),
  entries: Type.Array(
    Type.Object({
      action: Type.Enum(['created', 'updated', 'deleted', 'skipped']),
      resource: Type.Object({ kind: Type.String(), name: Type.String() }),
      owner: Type.Union([Type.Enum([...OWNERS]), Type.Null()], {
        description: 'Previous owner; null for a new object.',
      }),
      before: Type.Union([Type.Object({}), Type.Null()]),
      after: Type.Union([Type.Object({}), Type.Null()]),
      message: Type.String(),
    }),
  ),
});

/** Extensions of the contract, with paths that its clients know. */
export const manifest = group({ tag: 'Manifest', scope: 'manifest', envelope: 'wrapped' }, [
  report('GET /metadata/manifest', 'Export Manifest', {
    description:
      'Connections, published layers, services, settings of layers, styles, roles, policies and limits; no secrets, keys or users.',
    data: ManifestSchema,
    errors: [403],
    exports: true,
    async answer(x, deps) {
      const all = await listResources(deps);
      recordExport(x, { format: 'json', filter: null, count: all.length });
      const drift = await drifted(deps, all);
      return {
        apiVersion: API_VERSION,
        generatedAt: timestamp(Date.now()),
        resources: all,
        driftedResources: drift.map(({ kind, name }) => ({ kind, namespace: null, name })),
        owners: await owners(deps, all),
        manifestHash: fingerprint(all),
      };
    },
  }),
  action('POST /metadata/manifest/apply', 'Apply Manifest', {
    description:
      'Applies the manifest in one transaction. Jobs first create the copies of layers, and the response waits for them. With prune, the server deletes objects that the previous manifest created and this one omits. With dryRun, it only returns the plan. Each kind also requires the permission of its operations. For a release package, the server checks digest, signature and targets first.',
    body: { ...jsonBody(ApplyBody), maxBytes: MAX_BYTES, exactMembers: EXACT_MANIFEST_MEMBERS },
    data: ApplyResult,
    errors: [400, 403, 409, 413, 422, 503],
    async answer({ body, principal, span }, deps) {
      const { dryRun = false, prune = false } = body;
      const start = performance.now();
      specApplies.cell().inc();
      if (body.release) requireGenuine(body.release, body.resources, deps.releases);
      const steps = await inSpan(span, PLAN_SPAN, () =>
        planChanges(body.resources, { prune, principal }, deps),
      );
      if (!dryRun)
        await inSpan(span, APPLY_SPAN, (inner) => carryOut(steps, principal, deps, { span: inner }));
      specAppliesDone.cell().inc();
      specNodes.cell().inc(steps.length);
      specDuration.cell().observe(performance.now() - start);
      return buildResult(steps, dryRun);
    },
  }),
]);

const PLAN_SPAN = { name: 'svc.spec.plan', attributes: {} };
const APPLY_SPAN = { name: 'svc.spec.apply', attributes: {} };

const UNCHECKED = ', and is checked when what it names is there';

function buildResult(steps: readonly ManifestStep[], dryRun: boolean): Static<typeof ApplyResult> {
  const count = (kind: ManifestStep['action']) => steps.filter((step) => step.action === kind).length;
  return {
    dryRun,
    summary: {
      created: count('created'),
      updated: count('updated'),
      deleted: count('deleted'),
      skipped: count('skipped'),
    },
    entries: steps.map(({ action: what, kind, name, owner, before, after, isUnchecked }) => ({
      action: what,
      resource: { kind: kind.kind, name },
      owner,
      before: before ?? null,
      after: after ?? null,
      message: `${kind.kind} ${name} ${dryRun ? 'would be' : 'is'} ${what}${dryRun && isUnchecked ? UNCHECKED : ''}`,
    })),
  };
}
