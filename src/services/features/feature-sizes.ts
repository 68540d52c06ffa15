import type { VectorCollection } from '../../core/catalog/collection.js';
import { FEATURE_LIMITS } from '../../core/features/limits.js';
import { buildCrsUri, CRS84, coordinatePrecision } from '../../core/geometry/crs.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { xmlName } from '../../core/values/xml-name.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Bytes that a feature takes on average, measured in features of its first page. */
export interface FeatureSizes {
  readonly geojson: number;
  readonly csv: number;
  readonly gml: number;
  /** Features that were measured. */
  readonly sample: number;
}

/** Measured once per state of a collection and view of it. */
const measured = new WeakMap<VectorCollection, Promise<FeatureSizes | undefined>>();

/**
 * Sizes of features. Undefined if they could not be read, because sizes are optional and a page must not fail without
 * them.
 */
export function featureSizes(pools: Pools, visible: VectorCollection): Promise<FeatureSizes | undefined> {
  let sizes = measured.get(visible);
  if (!sizes) {
    sizes = measure(pools, visible).catch(() => {
      measured.delete(visible);
      return undefined;
    });
    measured.set(visible, sizes);
  }
  return sizes;
}

/** Context of a shared measurement. It neither ends with the request that started it, nor appears in its timings. */
const SHARED: TaskContext = { timing() {} };

type SizedFormat = 'geojson' | 'csv' | 'gml';

/**
 * Measures sizes. GeoJSON is measured at several positions of the first page, because neighbours are similar. Other
 * formats are measured at one of these positions.
 */
async function measure(pools: Pools, visible: VectorCollection): Promise<FeatureSizes | undefined> {
  const span = Math.min(visible.featureCount ?? CHUNK, LIMITS.itemsMax);
  const step = Math.max(CHUNK, Math.floor(span / CHUNKS));
  const offsets = Array.from({ length: CHUNKS }, (_, i) => i * step).filter((at) => at === 0 || at < span);
  const middle = offsets[offsets.length >> 1]!;
  const [places, csv, gml] = await Promise.all([
    Promise.all(offsets.map((offset) => read(pools, visible, 'geojson', offset))),
    read(pools, visible, 'csv', middle),
    read(pools, visible, 'gml', middle),
  ]);
  const total = { bytes: sum(places, 'bytes'), returned: sum(places, 'returned') };
  const beside = average(places[offsets.indexOf(middle)]!);
  if (total.returned === 0 || beside === 0) return undefined;
  const geojson = average(total);
  const ratio = geojson / beside;
  return { geojson, csv: average(csv) * ratio, gml: average(gml) * ratio, sample: total.returned };
}

const CHUNKS = 5;
const CHUNK = FEATURE_LIMITS.sizeSample / CHUNKS;

interface PageSize {
  readonly bytes: number;
  readonly returned: number;
}

async function read(
  pools: Pools,
  { id, source, rule }: VectorCollection,
  format: SizedFormat,
  offset: number,
): Promise<PageSize> {
  const { features, returned } = await runTask(SHARED, pools, 'vector.items', {
    source: rule?.stored ?? source,
    filter: rule?.rows,
    ...(rule === undefined ? {} : { fields: source.fields.map(({ name }) => name) }),
    format,
    crs: CRS84.proj,
    swapAxes: false,
    precision: coordinatePrecision(CRS84),
    ...(format === 'gml' ? { gml: { type: xmlName(id), srsName: buildCrsUri(CRS84, '') } } : {}),
    limit: CHUNK,
    offset,
    maxBytes: FEATURE_LIMITS.sizeSampleBytes,
  });
  return { bytes: features.length, returned };
}

function sum(measured: readonly PageSize[], member: keyof PageSize): number {
  return measured.reduce((total, one) => total + one[member], 0);
}

function average({ bytes, returned }: PageSize): number {
  return bytes / Math.max(1, returned);
}
