import { and, equalsAny } from '../../core/cql2/index.js';
import { featureTexts } from '../../core/edits/feature-text.js';
import { ApiError } from '../../core/errors/errors.js';
import type { ItemsTask, PageKey } from '../../core/features/features.js';
import type { Crs } from '../../core/geometry/crs.js';
import { GeoServicesGeometryError } from '../../core/geometry/geoservices-geometry.js';
import { esriFeature } from '../../core/geoservices/geoservices-features.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { exactInteger } from '../../core/values/exact-number.js';
import { stringifyExactly } from '../../core/values/json.js';
import { hasLongitudes } from '../../native/index.js';
import { REPLICA_LIMITS } from '../../stores/replicas/limits.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import type { ReplicaLayerView } from './layer-view.js';

/** Remaining bytes of a response. */
export interface Budget {
  bytes: number;
}

/** Features of one page: few enough to be written between two turns of the loop. */
const PAGE = 500;
const PAGE_BYTES = 262_144;
const IN_DEGREES = 9;
const IN_METRES = 4;

/** Decimal places of the geometries of replicas in a CRS. */
export const replicaPrecision = (crs: string): number => (hasLongitudes(crs) ? IN_DEGREES : IN_METRES);

/** Features of a layer as GeoServices JSON, by id; all of the replica's part, or those named. Throws 413 beyond the budget. */
export async function readReplicaFeatures(
  x: TaskContext,
  pools: Pools,
  view: ReplicaLayerView,
  { crs, budget, ids }: { crs: Crs; budget: Budget; ids?: readonly string[] },
): Promise<Map<string, string>> {
  const features = new Map<string, string>();
  if (!ids) {
    await readPages(x, pools, view, buildTask(view, crs), { crs, budget, features });
    return features;
  }
  for (let i = 0; i < ids.length; i += PAGE) {
    const ofPage = equalsAny(view.esri.idColumn, ids.slice(i, i + PAGE).map(exactInteger));
    const task = { ...buildTask(view, crs), filter: and(view.filter, ofPage) };
    await readPages(x, pools, view, task, { crs, budget, features });
  }
  return features;
}

function buildTask({ visible, filter }: ReplicaLayerView, crs: Crs): ItemsTask {
  const { rule, source } = visible;
  return {
    source: rule?.stored ?? source,
    ...(rule ? { fields: source.fields.map(({ name }) => name) } : {}),
    filter,
    format: 'geojson',
    crs: crs.proj,
    swapAxes: false,
    precision: replicaPrecision(crs.proj),
    limit: PAGE,
    offset: 0,
    maxBytes: PAGE_BYTES,
  };
}

interface ReadState {
  readonly crs: Crs;
  readonly budget: Budget;
  readonly features: Map<string, string>;
}

async function readPages(
  x: TaskContext,
  pools: Pools,
  { esri, layerId }: ReplicaLayerView,
  task: ItemsTask,
  { crs, budget, features }: ReadState,
): Promise<void> {
  let after: PageKey | undefined;
  for (;;) {
    const page = await runTask(x, pools, 'vector.items', { ...task, ...(after ? { after } : {}) });
    for (const text of featureTexts(page.features)) {
      const json = formatJson(() => esriFeature(text, esri, crs.epsg), layerId);
      budget.bytes -= json.length;
      if (budget.bytes < 0) throw tooLarge();
      features.set(text.id, json);
    }
    if (!page.more || !page.last) return;
    after = page.last;
  }
}

function formatJson(feature: () => unknown, layerId: number): string {
  try {
    return stringifyExactly(feature());
  } catch (error) {
    if (!(error instanceof GeoServicesGeometryError)) throw error;
    throw new ApiError('invalid-request', `A geometry of layer ${layerId} cannot be sent: ${error.message}.`);
  }
}

function tooLarge(): ApiError {
  const limit = REPLICA_LIMITS.replicaBytes / 1_048_576;
  return new ApiError(
    'payload-too-large',
    `The response would be larger than ${limit} MiB. Request fewer layers, or narrow them with where or geometry.`,
  );
}
