import Type, { type Static } from 'typebox';
import type { GroupPlan } from '../../../../services/exchange/migrations/geoserver/groups.js';
import type {
  MigrationResult,
  MigrationView,
} from '../../../../services/exchange/migrations/geoserver/migrations.js';
import {
  computeScorecard,
  type LayerParity,
} from '../../../../services/exchange/migrations/geoserver/parity/scorecard.js';
import type { LeftPart, TileGridPlan } from '../../../../services/exchange/migrations/geoserver/plan.js';
import type { LayerProgress } from '../../../../services/exchange/migrations/geoserver/progress.js';
import type { JobRow } from '../../../../stores/jobs/jobs.js';
import type { Services } from '../../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../../admin/envelope.js';
import { exportPath } from '../../../catalog/admin/export-download.js';
import { duration, percent } from '../../../jobs/admin/job-views.js';

/** GeoServer migrations as the management API shows them. */

const S = Type.String();
const I = Type.Integer();
const OptionalInteger = Type.Union([I, Type.Null()]);

const Left = Type.Array(
  Type.Object({
    kind: Type.Enum(['layer', 'store', 'style', 'layerGroup', 'gridset']),
    id: S,
    code: S,
    reason: S,
    manualSteps: Type.Array(S),
    configuration: Type.Optional(
      Type.String({ description: 'YAML of the settings of this server that take its place.' }),
    ),
  }),
);

const Verdict = Type.Enum(['pass', 'warn', 'fail']);

const Probe = Type.Object({
  probe: Type.Enum(['count', 'extent', 'features', 'bands', 'drawing']),
  verdict: Type.Enum(['pass', 'warn', 'fail', 'skipped']),
  reason: OptionalStringSchema,
  facts: Type.Object({}, { description: 'Measured values.' }),
});

const Layer = Type.Object({
  sourceLayer: S,
  kind: Type.Enum(['featureType', 'coverage']),
  collectionId: S,
  status: Type.Enum(['planned', 'running', 'imported', 'skipped', 'failed', 'cancelled']),
  jobId: OptionalStringSchema,
  publishedLayerId: OptionalInteger,
  featureCount: OptionalInteger,
  sourceStyle: OptionalStringSchema,
  otherStyles: Type.Array(S, { description: 'Alternative styles.' }),
  warnings: Type.Array(S),
  parity: Type.Union([Type.Object({ verdict: Verdict, probes: Type.Array(Probe) }), Type.Null()]),
});

const Group = Type.Object({
  sourceGroup: S,
  serviceName: S,
  title: OptionalStringSchema,
  collectionIds: Type.Array(S, {
    description: 'Imported collections from the bottom to the top of the map.',
  }),
  map: Type.Union([
    Type.String({ description: 'Path of a map of all its collections; null if no collection was imported.' }),
    Type.Null(),
  ]),
  style: Type.Union([
    Type.String({ description: 'Path of a MapLibre style that shows them together.' }),
    Type.Null(),
  ]),
  warnings: Type.Array(S),
});

const TileGrid = Type.Object({
  sourceGridset: S,
  tileMatrixSetId: Type.String({ description: 'Tile matrix set of this server with the same tiles.' }),
  collectionIds: Type.Array(S, {
    description: 'Collections of the layers with cached tiles in the gridset.',
  }),
  warnings: Type.Array(S),
});

export const MigrationJob = Type.Object({
  jobId: S,
  status: Type.Enum(['Queued', 'Processing', 'Completed', 'Failed', 'Cancelled']),
  geoServerUrl: S,
  queuedAt: TimestampSchema,
  startedAt: OptionalTimestampSchema,
  completedAt: OptionalTimestampSchema,
  durationDisplay: S,
  errorMessage: OptionalStringSchema,
  progress: Type.Object({
    jobId: S,
    status: Type.Integer({
      description:
        '0 Queued 1 Discovering 2 ImportingWorkspaces 3 ImportingDataStores 4 ImportingLayers 5 ImportingStyles 6 Validating 7 Completed 8 Failed 9 Cancelled',
    }),
    currentPhase: OptionalStringSchema,
    sourceGeoServerUrl: S,
    startedAt: TimestampSchema,
    completedAt: OptionalTimestampSchema,
    errorMessage: OptionalStringSchema,
    percentComplete: Type.Union([Type.Number(), Type.Null()]),
    totalLayers: I,
    importedLayers: I,
    skippedLayers: I,
    failedLayers: I,
  }),
  dryRun: Type.Boolean(),
  sourceVersion: OptionalStringSchema,
  layers: Type.Array(Layer, { description: 'Empty until the source was read.' }),
  layerGroups: Type.Array(Group),
  tileGrids: Type.Array(TileGrid),
  unsupported: Left,
  manualReview: Left,
  warnings: Type.Array(S),
  scorecard: Type.Union([
    Type.Object({ verdict: Verdict, passCount: I, warnCount: I, failCount: I }),
    Type.Null(),
  ]),
  evidencePack: Type.Union([
    Type.Object({ href: S, sizeBytes: I, digest: S, signature: OptionalStringSchema }),
    Type.Null(),
  ]),
});
type MigrationJob = Static<typeof MigrationJob>;

export function migrationView(view: MigrationView, deps: Services<'catalog'>): MigrationJob {
  const { job, request, plan } = view;
  return {
    jobId: job.id,
    status: STATES[job.state],
    geoServerUrl: request.restUrl,
    queuedAt: timestamp(job.created_at),
    startedAt: optionalTimestamp(job.started_at),
    completedAt: optionalTimestamp(job.completed_at),
    durationDisplay: duration(job),
    errorMessage: job.failure_message,
    progress: progressView(view),
    dryRun: request.dryRun,
    sourceVersion: plan?.version ?? null,
    layers: listLayers(view, deps),
    layerGroups: listGroups(view),
    // Absent of a plan that an earlier version made.
    tileGrids: (plan?.tileGrids ?? []).map(tileGridView),
    unsupported: (plan?.unsupported ?? []).map(leftView),
    manualReview: (plan?.reviews ?? []).map(leftView),
    warnings: JSON.parse(job.warnings_json) as string[],
    scorecard: scorecardView(view),
    evidencePack: evidenceView(job),
  };
}

/** Counts the layers that have been compared so far. */
function scorecardView({ layers }: MigrationView): MigrationJob['scorecard'] {
  const parities = layers.flatMap((one) => one?.parity ?? []);
  return parities.length === 0 ? null : { ...computeScorecard(parities) };
}

function evidenceView({ id, result_json }: JobRow): MigrationJob['evidencePack'] {
  const { evidence } = JSON.parse(result_json ?? '{}') as Partial<MigrationResult>;
  if (!evidence) return null;
  const { bytes: sizeBytes, digest, signature } = evidence;
  return { href: exportPath(id), sizeBytes, digest, signature };
}

const STATES = {
  Queued: 'Queued',
  Running: 'Processing',
  Succeeded: 'Completed',
  Failed: 'Failed',
  Cancelled: 'Cancelled',
} as const;

const ENDS = { Queued: 0, Succeeded: 7, Failed: 8, Cancelled: 9 } as const;
const PHASES: Readonly<Record<string, number>> = {
  discover: 1,
  workspaces: 2,
  stores: 3,
  layers: 4,
  styles: 5,
  validate: 6,
};

function convertStatus({ state, phase }: JobRow): number {
  return state === 'Running' ? (PHASES[phase ?? ''] ?? 1) : ENDS[state];
}

function progressView({ job, request, layers }: MigrationView): MigrationJob['progress'] {
  const count = (...states: LayerProgress['state'][]) =>
    layers.filter((one) => one !== undefined && states.includes(one.state)).length;
  return {
    jobId: job.id,
    status: convertStatus(job),
    currentPhase: job.phase,
    sourceGeoServerUrl: request.restUrl,
    startedAt: timestamp(job.started_at ?? job.created_at),
    completedAt: optionalTimestamp(job.completed_at),
    errorMessage: job.failure_message,
    percentComplete: job.state === 'Succeeded' ? 100 : percent(job),
    totalLayers: layers.length,
    importedLayers: count('imported'),
    skippedLayers: count('skipped'),
    failedLayers: count('failed', 'cancelled'),
  };
}

function listLayers(
  { plan, layers }: MigrationView,
  { catalog }: Services<'catalog'>,
): MigrationJob['layers'] {
  return (plan?.layers ?? []).map((layer, ordinal) => {
    const progress = layers[ordinal];
    const isThere = progress?.state === 'imported';
    return {
      sourceLayer: layer.id,
      kind: layer.kind,
      collectionId: layer.collection,
      status: progress?.state ?? 'planned',
      jobId: progress?.jobId ?? null,
      publishedLayerId: isThere ? (catalog().byId(layer.collection)?.layerId ?? null) : null,
      featureCount: progress?.features ?? null,
      sourceStyle: layer.styleId,
      otherStyles: [...layer.otherStyles],
      warnings: [...layer.warnings, ...(progress?.notes ?? [])],
      parity: progress?.parity ? parityView(progress.parity) : null,
    };
  });
}

/** Layers that were not imported are in no group, even if other layers have the same names. */
function listGroups({ plan, layers }: MigrationView): MigrationJob['layerGroups'] {
  if (!plan) return [];
  const absent = new Set(
    plan.layers.flatMap(({ collection }, ordinal) => {
      const { state = 'running' } = layers[ordinal] ?? {};
      return state === 'running' || state === 'imported' ? [] : [collection];
    }),
  );
  return plan.groups.map((group) => {
    const collections = group.collections.filter((id) => !absent.has(id));
    return groupView({ ...group, collections });
  });
}

function groupView({ id, service, title, collections, warnings }: GroupPlan) {
  const query = `collections=${collections.map(encodeURIComponent).join(',')}`;
  const isEmpty = collections.length === 0;
  return {
    sourceGroup: id,
    serviceName: service,
    title,
    collectionIds: [...collections],
    warnings: [...warnings],
    map: isEmpty ? null : `/ogc/maps/map?${query}`,
    style: isEmpty ? null : `/ogc/maps/styles/default?${query}`,
  };
}

function tileGridView({ gridset, tileMatrixSet, collections, warnings }: TileGridPlan) {
  return {
    sourceGridset: gridset,
    tileMatrixSetId: tileMatrixSet,
    collectionIds: [...collections],
    warnings: [...warnings],
  };
}

function parityView({ verdict, probes }: LayerParity) {
  return { verdict, probes: probes.map((one) => ({ ...one, facts: { ...one.facts } })) };
}

function leftView({ manualSteps, ...part }: LeftPart) {
  return { ...part, manualSteps: [...manualSteps] };
}
