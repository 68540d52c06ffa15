import { type VectorCollection, whole } from '../../../../../core/catalog/collection.js';
import { equalsAny } from '../../../../../core/cql2/index.js';
import type { FeatureComparison } from '../../../../../core/exchange/parity.js';
import { CRS84 } from '../../../../../core/geometry/crs.js';
import type { Pools } from '../../../../../core/tasks/tasks.js';
import { findEpsgCrs } from '../../../../../native/crs.js';
import { describeCrs } from '../../../../../native/index.js';
import type { JobContext } from '../../../../jobs/kinds.js';
import { ID_PROPERTY, WfsPages, type WfsType } from '../../../remote/wfs-pages.js';
import { SampleKeys } from './sample-keys.js';
import { createProbe, type Probe } from './scorecard.js';

/** Number of samples, at the start, in the middle and at the end, and features per sample. */
const WINDOWS = 3;
const WINDOW = 8;
/** Metres that positions may be apart. */
const METRES = 0.1;
/** Decimal places of coordinates in degrees, and in units of a plane. */
const DEGREE_PLACES = 9;
const PLANE_PLACES = 4;
const NO_KEY = 'Neither ids nor an attribute tell the features apart: they cannot be compared one by one.';

export interface FeatureProbes {
  readonly probes: readonly Probe[];
  readonly samples: FeatureComparison['samples'];
}

/** Request parameters for the source, and the output file. */
export interface SampleSource {
  readonly type: WfsType;
  readonly headers: Readonly<Record<string, string>>;
  readonly folder: string;
  /** GeoJSON text sequence to write. */
  readonly path: string;
}

/**
 * Compares a feature type with the collection created from it: the number of features, and some features one by one.
 */
export async function featureProbes(
  pools: Pick<Pools, 'run'>,
  context: Pick<JobContext, 'signal' | 'log'>,
  { type, headers, folder, path }: SampleSource,
  collection: VectorCollection,
): Promise<FeatureProbes> {
  const { source } = whole(collection);
  const { signal } = context;
  const pages = new WfsPages(pools, context, type, headers, folder, path);
  const target = await pools.run('vector.count', { source, filter: undefined }, { signal });
  const total = await pages.count();
  const count = countProbe(total, target);
  const sample = await readSample(pages, total ?? target);
  if (sample.count === 0)
    return {
      probes: [count, createProbe('features', 'warn', 'The source gave no features to compare.')],
      samples: [],
    };
  const idKey = type.geoJson === undefined ? ID_PROPERTY : 'id';
  const keys = new SampleKeys(pools, source, { path, end: sample.offset, count: sample.count }, signal);
  const keyed = await keys.find(idKey);
  if (!keyed) return { probes: [count, createProbe('features', 'warn', NO_KEY)], samples: [] };
  const { key, values } = keyed;
  const crs = sample.srid === undefined ? CRS84 : (findEpsgCrs(sample.srid) ?? CRS84);
  const { metresPerUnit } = describeCrs(crs.proj);
  const task = {
    source,
    filter: equalsAny(key, values),
    limit: values.length,
    offset: 0,
    format: 'geojson' as const,
    crs: crs.proj,
    swapAxes: false,
    precision: crs.geographic ? DEGREE_PLACES : PLANE_PLACES,
  };
  const { features } = await pools.run('vector.items', task, { signal });
  const comparison = await pools.run(
    'ingest.compareFeatures',
    { path, target: features, key, tolerance: METRES / metresPerUnit },
    { signal },
  );
  return { probes: [count, comparisonProbe(key, comparison)], samples: comparison.samples };
}

function countProbe(source: number | null, target: number): Probe {
  const facts = { source, target };
  if (source === null)
    return createProbe('count', 'warn', 'The WFS does not return the number of features.', facts);
  return source === target
    ? createProbe('count', 'pass', null, facts)
    : createProbe('count', 'fail', `The source has ${source} features, and the collection ${target}.`, facts);
}

async function readSample(pages: WfsPages, total: number) {
  const last = Math.max(0, total - WINDOW);
  const starts = new Set(Array.from({ length: WINDOWS }, (_, i) => Math.floor((last * i) / (WINDOWS - 1))));
  let sample: { offset: number; count: number; srid?: number } = { offset: 0, count: 0 };
  let end = 0;
  for (const start of starts) {
    // Windows of a few features overlap.
    const startIndex = Math.max(start, end);
    const count = Math.min(start + WINDOW, total) - startIndex;
    if (count <= 0) continue;
    const page = await pages.read({ startIndex, count }, sample.offset);
    sample = { ...page, count: sample.count + page.count };
    end = startIndex + count;
  }
  return sample;
}

function comparisonProbe(key: string, { compared, missing, differences }: FeatureComparison): Probe {
  const facts = {
    key,
    compared,
    missing: missing.slice(0, WINDOW),
    differences: differences.slice(0, WINDOW).map(({ id, member, detail }) => `${id} ${member}: ${detail}`),
  };
  if (missing.length > 0)
    return createProbe('features', 'fail', `${missing.length} of ${compared} features are not there.`, facts);
  if (differences.length > 0)
    return createProbe('features', 'fail', 'Features are not what they were: see the differences.', facts);
  return createProbe('features', 'pass', null, facts);
}
