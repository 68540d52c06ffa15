import Type, { type Static } from 'typebox';
import { SERVICE } from '../../../../core/access/access.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import type { Exchange, Principal } from '../../../../core/http/operation.js';
import { pathString } from '../../../../core/http/params.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import type { BatchChild, BatchLayer, BatchView } from '../../../../services/exchange/migrations/batches.js';
import { isOwnImport, requireJob } from '../../../../services/jobs/ownership.js';
import type { ServicesOf } from '../../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../../admin/kit.js';
import { requireReplaceable } from '../../../admin/layer-rights.js';
import { createMemberError, createSubmitOptions } from '../../../connections/admin/remote-imports.js';
import { layerImport } from './import-geoservices-jobs.js';

const SERVICES = ['access', 'catalog', 'connections', 'migrationBatches'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

/** Migrations of many GeoServices layers at once. */

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const Id = Type.String({ minLength: 1, maxLength: 2048 });

const LayerBody = Type.Object({
  sourceResourceId: Id,
  serviceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  layerId: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  tableName: S,
  targetSchema: Type.Optional(S),
  serviceName: Type.Optional(Type.String({ maxLength: 200 })),
  dependsOn: Type.Optional(Type.Array(Id, { maxItems: EXCHANGE_LIMITS.batchLayers })),
});

const Body = Type.Object({
  sourceKind: Type.Enum(['geoservices', 'arcgis-geoservices-rest']),
  sourceUrl: Type.Optional(Type.String({ maxLength: LIMITS.urlBytes })),
  sourceDisplayName: Type.Optional(Type.String({ maxLength: 256 })),
  layers: Type.Array(LayerBody, { minItems: 1, maxItems: EXCHANGE_LIMITS.batchLayers }),
  applyRelationships: Type.Optional(
    Type.Boolean({ default: false, description: 'Imports relationships between layers of the batch.' }),
  ),
  manifestBody: Type.Optional(
    Type.String({
      maxLength: EXCHANGE_LIMITS.batchManifest,
      description: 'The manifest that was reviewed, as JSON.',
    }),
  ),
});
type StartBody = Static<typeof Body>;

const Batch = Type.Object({
  batchId: S,
  sourceKind: S,
  sourceUrl: OptionalStringSchema,
  sourceDisplayName: OptionalStringSchema,
  status: Type.Enum(['running', 'succeeded', 'failed', 'cancelled', 'needs-review']),
  statusNote: OptionalStringSchema,
  startedAt: TimestampSchema,
  completedAt: OptionalTimestampSchema,
  totalChildren: I,
  succeededChildren: I,
  failedChildren: I,
  cancelledChildren: I,
  applyRelationships: B,
  relationshipsApplied: B,
  children: Type.Array(
    Type.Object({
      ordinal: I,
      sourceResourceId: S,
      serviceUrl: S,
      sourceLayerId: I,
      tableName: S,
      serviceName: OptionalStringSchema,
      dependsOn: Type.Array(S),
      status: Type.Enum(['pending', 'running', 'succeeded', 'failed', 'needs-review', 'cancelled']),
      statusNote: OptionalStringSchema,
      jobId: OptionalStringSchema,
      publishedLayerId: Type.Union([I, Type.Null()]),
    }),
    { description: 'Layers in the order of the request. Empty in the first response.' },
  ),
});

export const migrationBatches = [
  action('POST /import/migrations', 'Start Migration Batch', {
    description:
      'Starts a job for each layer, like POST /import/geoservices/start. Layers that depend on other layers start after them. If a layer fails, only its dependent layers are skipped.',
    body: jsonBody(Body),
    data: Batch,
    status: 202,
    errors: [400, 503],
    answer: start,
  }),
  report('GET /import/migrations/{batchId}', 'Get Migration Batch', {
    params: { batchId: pathString('batchId', 'Id of the batch.') },
    data: Batch,
    errors: [400, 404, 503],
    async answer({ params, principal }, deps) {
      const batch = await deps.migrationBatches.get(params.batchId);
      requireJob(batch.job, principal, isOwnImport, 'migration batch');
      return buildView(batch, deps);
    },
  }),
];

async function start(x: Exchange<Record<never, never>, StartBody>, deps: Deps) {
  const { sourceKind, sourceUrl, sourceDisplayName, manifestBody, applyRelationships = false } = x.body;
  requireManifest(manifestBody);
  const layers = listLayers(x.body, x.principal, deps);
  const replaced = layers.filter(({ input }) => input.replace).map(({ input }) => input.table);
  requireReplaceable(replaced, x.principal, deps);
  requireOrder(layers);
  const batch = {
    sourceKind,
    sourceUrl: sourceUrl ?? null,
    sourceDisplayName: sourceDisplayName ?? null,
    layers,
    applyRelationships,
    manifest: manifestBody ?? null,
  };
  return buildView(await deps.migrationBatches.start(batch, createSubmitOptions(x)), deps);
}

function requireManifest(text: string | undefined): void {
  if (text === undefined) return;
  try {
    JSON.parse(text);
  } catch {
    throw createMemberError('manifestBody', 'must be JSON');
  }
}

function listLayers(
  { layers, applyRelationships = false }: StartBody,
  principal: Principal,
  { connections }: Deps,
): BatchLayer[] {
  const ids = new Set<string>();
  const tables = new Set<string>();
  return layers.map(({ sourceResourceId: id, dependsOn = [], ...layer }, i) => {
    if (ids.has(id)) throw createMemberError(`layers[${i}].sourceResourceId`, 'is given twice');
    const table = layer.tableName.toLowerCase();
    if (tables.has(table)) throw createMemberError(`layers[${i}].tableName`, 'is given twice');
    ids.add(id);
    tables.add(table);
    const input = layerImport(layer, connections.settings.secrets, principal, `layers[${i}].`);
    input.remote.relatesLater = applyRelationships;
    return { id, input, dependsOn: [...new Set(dependsOn)] };
  });
}

/** Throws 400 if a layer depends on a missing layer, or indirectly on itself. */
function requireOrder(layers: readonly BatchLayer[]): void {
  const ids = new Set(layers.map(({ id }) => id));
  for (const [i, { dependsOn }] of layers.entries()) {
    const stranger = dependsOn.find((id) => !ids.has(id));
    if (stranger !== undefined)
      throw createMemberError(`layers[${i}].dependsOn`, `'${stranger}' is not a layer`);
  }
  const ready = new Set<string>();
  for (let rest = [...layers]; rest.length > 0; ) {
    const later = rest.filter(({ dependsOn }) => !dependsOn.every((id) => ready.has(id)));
    if (later.length === rest.length)
      throw createMemberError(
        `layers[${layers.indexOf(rest[0]!)}].dependsOn`,
        'must not refer to the layer itself',
      );
    for (const { id, dependsOn } of rest) if (dependsOn.every((one) => ready.has(one))) ready.add(id);
    rest = later.filter(({ id }) => !ready.has(id));
  }
}

function buildView(
  { job, batch, children, relationshipsApplied }: BatchView,
  deps: Deps,
): Static<typeof Batch> {
  const count = (...states: BatchChild['state'][]) =>
    children.filter(({ state }) => states.includes(state)).length;
  const warnings = JSON.parse(job.warnings_json) as string[];
  return {
    batchId: job.id,
    sourceKind: batch.sourceKind,
    sourceUrl: batch.sourceUrl,
    sourceDisplayName: batch.sourceDisplayName,
    status: chooseStatus(job.state, warnings.length + count('needs-review')),
    statusNote: job.failure_message ?? warnings[0] ?? null,
    startedAt: timestamp(job.started_at ?? job.created_at),
    completedAt: optionalTimestamp(job.completed_at),
    totalChildren: batch.layers.length,
    succeededChildren: count('succeeded', 'needs-review'),
    failedChildren: count('failed'),
    cancelledChildren: count('cancelled'),
    applyRelationships: batch.applyRelationships,
    relationshipsApplied,
    children: children.map((child, ordinal) => childView(child, ordinal, deps)),
  };
}

const ENDS: Readonly<Record<string, Static<typeof Batch>['status']>> = {
  Failed: 'failed',
  Cancelled: 'cancelled',
};

function chooseStatus(state: string, reviews: number): Static<typeof Batch>['status'] {
  if (state === 'Succeeded') return reviews > 0 ? 'needs-review' : 'succeeded';
  return ENDS[state] ?? 'running';
}

function childView({ layer, state, note, jobId }: BatchChild, ordinal: number, { catalog }: Deps) {
  const { table, remote } = layer.input;
  const isThere = state === 'succeeded' || state === 'needs-review';
  return {
    ordinal,
    sourceResourceId: layer.id,
    serviceUrl: remote.serviceUrl,
    sourceLayerId: remote.layerId,
    tableName: table,
    serviceName: remote.service ?? SERVICE,
    dependsOn: [...layer.dependsOn],
    status: state,
    statusNote: note,
    jobId,
    publishedLayerId: isThere ? (catalog().byId(table.toLowerCase())?.layerId ?? null) : null,
  };
}
