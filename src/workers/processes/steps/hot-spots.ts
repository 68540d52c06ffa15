import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { neighbourSums } from '../../../native/analytics.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { mapFeatures } from '../map.js';
import { Centroids, numberAt, replacePlaces } from '../places.js';
import type { ProcessRun } from '../run.js';
import type { Attribute } from '../table.js';

type HotSpots = Extract<FeatureProcess, { kind: 'hot-spots' }>;

/** In the order of their values below. */
const COLUMNS: readonly Attribute[] = [
  { name: 'giZ', type: 'number' },
  { name: 'giP', type: 'number' },
  { name: 'giConfidence', type: 'integer' },
];

/**
 * Writes each feature with Gi* by Getis and Ord (1995) of a field within a distance: z, its two-sided p, and the
 * confidence in per cent. The confidence is negative for cold spots, and 0 if it is below 90.
 */
export async function hotSpots(run: ProcessRun, { field, radius, ground }: HotSpots): Promise<number> {
  const { input } = run.task;
  const places = new Centroids(input.source.crs, ground);
  const at = input.fields.indexOf(field);
  const features = await mapFeatures(
    run,
    { kind: 'map', operation: { name: 'none' } },
    {
      attributes: COLUMNS,
      valuesOf: (rows) =>
        places.add(rows, (row) => numberAt(row, at)).map((place) => COLUMNS.map(() => place)),
    },
  );
  if (features === 0) return features;
  const z = scores(places, radius, run.cancellation);
  replacePlaces(run, [
    (place) => z[place]!,
    (place) => twoSided(z[place]!),
    (place) => Math.sign(z[place]!) * confidence(twoSided(z[place]!)),
  ]);
  return features;
}

/**
 * Returns the scores. Weights are 1 within the distance, including the feature itself, otherwise 0. NaN if all values
 * are the same.
 */
function scores(places: Centroids, radius: number, cancellation?: Cancellation): Float64Array {
  const { points, dimensions } = places.metric();
  const values = places.values();
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
  const check = () => cancellation?.check();
  const { counts, sums } = neighbourSums(points, dimensions, values, radius, check);
  return counts.map((count, i) => {
    const spread = Math.sqrt(variance * ((n * count - count * count) / (n - 1)));
    return spread > 0 ? (sums[i]! - mean * count) / spread : Number.NaN;
  });
}

/** The probability of a z as far from 0 or further (normal distribution). */
function twoSided(z: number): number {
  return erfc(Math.abs(z) / Math.SQRT2);
}

const TERMS = 60;

/** Complementary error function: its series near 0, otherwise its continued fraction; precision about 1e-13. */
function erfc(x: number): number {
  if (x < 2.5) {
    let [term, sum] = [x, x];
    for (let n = 1; n < TERMS; n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = x;
  for (let n = TERMS; n > 0; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}

const LEVELS = [99, 95, 90];

const confidence = (p: number) => LEVELS.find((level) => p <= (100 - level) / 100 + Number.EPSILON) ?? 0;
