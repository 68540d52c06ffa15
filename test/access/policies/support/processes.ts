import type { Known, Layer } from './oracle.js';
import type { World } from './world.js';

/** What each process of the server is asked of the layers of the matrix, and what its results must show. */
export interface ProcessCase {
  readonly id: string;
  inputs(layer: Layer, other: Layer): Record<string, unknown>;
  /** What is executed for the case, where that is a plan. */
  readonly process?: string;
  /** The token of each row that may be seen is in the results. */
  readonly showsRows?: boolean;
  /** It reads a raster that is closed to all callers of the case. */
  readonly isRefused?: boolean;
}

const of = ({ id }: Layer) => ({ collection: id });
/** Covers all rows. */
export const RASTER_FILE = 'covering.tif';
const RASTER = { collection: 'covering' };
/** Closed to those who lack a grant to read. */
export const CLOSED_RASTER = 'l7_etms';
const CLOSED = { collection: CLOSED_RASTER };
/** Zones around all rows. */
const ZONES = {
  ...{ type: 'Polygon' },
  coordinates: [
    [
      [0, 40],
      [30, 40],
      [30, 60],
      [0, 60],
      [0, 40],
    ],
  ],
};

const single = (id: string, more: Record<string, unknown> = {}, showsRows = true): ProcessCase => ({
  ...{ id, showsRows },
  inputs: (layer) => ({ features: of(layer), ...more }),
});
/** The other layer has the same rows, and is open: nothing of it may be hidden, and nothing shown beyond the pairs. */
const PLAN = 'svc-geoprocessing';
const step = (stepId: string, processId: string, inputs: object) => ({
  ...{ kind: 'geoprocess', stepId, processId, inputs },
});
/** A process of areas, around the features of the layer. */
const ofAreas = (id: string, name: string): ProcessCase => ({
  ...{ id, process: PLAN },
  inputs: (layer) => ({
    plan: {
      planId: 'areas',
      steps: [
        step('areas', 'geometry.buffer', { features: of(layer), distance: 10 }),
        step('result', id, { raster: RASTER, [name]: 'areas.features' }),
      ],
    },
  }),
});
const pair = (id: string, name: string, more: Record<string, unknown> = {}): ProcessCase => ({
  id,
  inputs: (layer) => ({ features: ZONES, [name]: of(layer), ...more }),
});
const ofRaster = (id: string, more: Record<string, unknown> = {}): ProcessCase => ({
  ...{ id, isRefused: true },
  inputs: () => ({ raster: CLOSED, ...more }),
});

const EACH_FEATURE = ['convex-hull', 'concave-hull', 'centroid', 'point-on-surface', 'envelope'];
const MORE_FEATURES = [
  'oriented-box',
  'bounding-circle',

  'make-valid',
  'area',
  'length',
  'smooth',
];
const OVERLAYS = ['clip', 'difference', 'intersect', 'symmetric-difference', 'union-overlay'];
const ALL_TOGETHER = [
  'boundary',
  'line-merge',
  'union',
  'voronoi',
  'delaunay',
  'polygonize',
  'layer-convex-hull',
  'layer-concave-hull',
];
const RASTER_ONLY: Record<string, Record<string, unknown>> = {
  'surface.hillshade': {},
  'surface.slope': {},
  'surface.aspect': {},
  'surface.roughness': {},
  'surface.rugosity-tri': {},
  'surface.rugosity-tpi': {},
  'surface.viewshed': { observerX: 1, observerY: 1 },
  'surface.contour': { interval: 50 },
  'raster.polygonize': {},
  'raster.reproject': { targetSrid: 4326 },
  'raster.resample': { cellSize: 500 },
  'raster.reclassify': { remap: [{ min: 0, max: 100, value: 1 }] },
  'raster.fill-nodata': {},
  'raster.sieve': { threshold: 4 },
  'raster.statistics': {},
  'raster.histogram': {},
  'raster.spectral-index': { index: 'NDVI', red: 1, nir: 1 },
};

export const PROCESS_CASES: readonly ProcessCase[] = [
  ...[...EACH_FEATURE, ...MORE_FEATURES].map((name) => single(`geometry.${name}`)),
  single('geometry.buffer', { distance: 10 }),
  single('geometry.simplify', { tolerance: 10 }),
  single('geometry.densify', { segmentLength: 1000 }),
  single('geometry.snap', { cellSize: 0.000001, unit: 'crs' }),
  single('geometry.project', { targetCrs: 'EPSG:3857' }),
  single('geometry.multipart-to-singlepart'),
  single('conversion.feature-select'),
  single('conversion.feature-export', { format: 'geojson' }),
  single('analytics.calculate-field', { name: 'twice', expression: 'level * 2' }),
  single('analytics.deduplicate', { fields: ['token'] }),
  single('analytics.cluster', { algorithm: 'kmeans', k: 2 }),
  single('geometry.dissolve', { groupBy: ['token'] }),
  single('analytics.buffer-aggregate', { groupBy: ['token'], distance: 10 }),
  single('analytics.summary-statistics', { groupBy: ['token'] }),
  ...ALL_TOGETHER.map((name) => single(`geometry.${name}`, {}, false)),
  single('analytics.data-quality', {}, false),
  single('geometry.grid', { cellSize: 100_000 }, false),
  single('analytics.h3-aggregate', { resolution: 3 }, false),
  single('analytics.density', { cellSize: 200_000, radius: 300_000 }, false),
  single('analytics.hot-spots', { field: 'level', radius: 500_000 }, false),
  ...OVERLAYS.map((name) => pair(`geometry.${name}`, 'overlay')),
  pair('geometry.snap-to-layer', 'reference', { tolerance: 10 }),
  pair('analytics.spatial-join', 'join', { mode: 'each' }),
  pair('analytics.points-in-polygons', 'points'),
  pair('analytics.nearest', 'near', { count: 30 }),
  pair('analytics.distance-matrix', 'targets'),
  pair('analytics.overlay-shares', 'overlay'),
  ...Object.entries(RASTER_ONLY).map(([id, more]) => ofRaster(id, more)),
  {
    ...{ id: 'raster.map-algebra', isRefused: true },
    inputs: () => ({ sources: [RASTER, CLOSED], expression: 'b1 + 1' }),
  },
  { id: 'raster.mosaic', isRefused: true, inputs: () => ({ sources: [RASTER, CLOSED] }) },
  { id: 'raster.change', isRefused: true, inputs: () => ({ before: RASTER, after: CLOSED }) },
  { id: 'raster.rasterize', inputs: (layer) => ({ raster: RASTER, features: of(layer) }) },
  ofAreas('raster.clip', 'features'),
  ...['raster.interpolate-idw', 'raster.interpolate-linear'].map((id) => ({
    id,
    inputs: (layer: Layer) => ({ raster: RASTER, points: of(layer), field: 'level' }),
  })),
  { id: 'raster.sample', showsRows: true, inputs: (layer) => ({ raster: RASTER, points: of(layer) }) },
  ofAreas('raster.zonal-statistics', 'zones'),
  { id: 'cartography.map', inputs: ({ id }) => ({ layers: [id], format: 'png', width: 64, height: 64 }) },
  { id: 'conversion.tile-archive', inputs: ({ id }) => ({ collections: [id], maxZoom: 1 }) },
  {
    ...{ id: PLAN, showsRows: true },
    inputs: ({ id, layerId }) => ({
      plan: {
        planId: 'both',
        steps: [
          {
            ...{ kind: 'queryFeatures', stepId: 'query' },
            inputs: { layerId: String(layerId), where: '1=1', fields: ['token'] },
          },
          step('box', 'geometry.envelope', { features: 'query.features' }),
          step('select', 'conversion.feature-select', { features: { collection: id } }),
        ],
      },
    }),
  },
];

/** Processes that read no layer of the server. */
export const WITHOUT_LAYERS = ['echo', 'conversion.import'];

export interface Outcome {
  readonly status: string;
  /** The status document, the log of the job and its results. */
  readonly text: string;
}

/** Executes a process as a caller, and reads all that it says of itself. */
export async function executeAs(
  { fetch }: Pick<World, 'fetch'>,
  { audience }: Pick<Known, 'audience'>,
  id: string,
  body: object,
): Promise<Outcome> {
  const path = `/ogc/processes/processes/${id}/execution`;
  const began = await fetch(audience, path, { method: 'POST', body });
  const text = await began.text();
  if (began.status !== 201) return { status: String(began.status), text };
  const job = `/ogc/processes/jobs/${(JSON.parse(text) as { jobID: string }).jobID}`;
  for (;;) {
    const response = await fetch(audience, job, { headers: { accept: 'application/json' } });
    const status = await response.text();
    const { status: state } = JSON.parse(status) as { status: string };
    if (state === 'accepted' || state === 'running') {
      await new Promise((resolve) => setTimeout(resolve, 40));
      continue;
    }
    const results = await fetch(audience, `${job}/results`, { headers: { accept: 'application/json' } });
    const bytes = Buffer.from(await results.arrayBuffer()).toString('latin1');
    const files = state === 'successful' ? await filesOf({ fetch }, audience, bytes) : '';
    return { status: state, text: [text, status, bytes, files].join('\n') };
  }
}

/** The files that results link to. */
async function filesOf(
  { fetch }: Pick<World, 'fetch'>,
  audience: Known['audience'],
  results: string,
): Promise<string> {
  const links = [...results.matchAll(/"href":"https?:\/\/[^/"]+(\/ogc\/processes\/jobs\/[^"]+)"/g)];
  const files: string[] = [];
  for (const [, path] of links) {
    const response = await fetch(audience, path!);
    files.push(Buffer.from(await response.arrayBuffer()).toString('latin1'));
  }
  return files.join('\n');
}

/** Executes a GP task as a caller, with the inputs of a case: layers are named by their addresses. */
export async function executeTask(
  { fetch, url, layer }: Pick<World, 'fetch' | 'url' | 'layer'>,
  audience: Known['audience'],
  id: string,
  inputs: Record<string, unknown>,
): Promise<Outcome> {
  const addressed = Object.entries(inputs).map(([name, value]) => {
    const { collection } = (typeof value === 'object' ? value : {}) as { collection?: string };
    const address = collection && `${url}/rest/services/default/FeatureServer/${layer(collection).layerId}`;
    const text = typeof value === 'string' ? value : JSON.stringify(address ? { url: address } : value);
    return [name, text] as const;
  });
  const path = `/rest/services/Processes/GPServer/${id}/execute`;
  const response = await fetch(audience, path, {
    method: 'POST',
    body: { f: 'json', ...Object.fromEntries(addressed) },
  });
  const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
  return { status: text.includes('"error"') ? 'failed' : 'successful', text };
}

/** Cases whose inputs a GP task takes from feature layers alone. */
export const TASK_CASES = PROCESS_CASES.filter(
  ({ id, process, isRefused }) =>
    process === undefined && !isRefused && /^(geometry|analytics|conversion\.feature-select)/.test(id),
);
