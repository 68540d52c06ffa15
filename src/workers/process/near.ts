import type { Box } from '../../core/box.js';
import type { ProcessFeatures, Reach } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { describeCrs } from '../../native/index.js';
import { nearestGeometries } from '../../native/proximity.js';
import { aroundOnGlobe, widened } from '../providers/boxes.js';
import type { IndexedCopy } from './copy.js';
import { boxAround, crowded, geometriesOf, type Run, rowsIn } from './run.js';

/** A feature, and how far away it is: metres over the ground, or units of the plane. */
export interface Neighbour {
  readonly row: FeatureRow;
  readonly distance: number;
}

/** Where all lies that is within a distance of a box. */
function boxesAround(box: Box, { source }: ProcessFeatures, { distance, ground }: Reach): Box[] {
  return ground
    ? aroundOnGlobe(box, distance / describeCrs(source.crs).metresPerUnit)
    : [widened(box, distance, distance)];
}

const search = (
  rows: readonly FeatureRow[],
  near: readonly FeatureRow[],
  { source }: ProcessFeatures,
  query: Parameters<typeof nearestGeometries>[3],
): Neighbour[][] => {
  const { pairs, distances } = nearestGeometries(geometriesOf(rows), geometriesOf(near), source.crs, query);
  const all: Neighbour[][] = rows.map(() => []);
  distances.forEach((distance, i) => {
    all[pairs[2 * i]!]!.push({ row: near[pairs[2 * i + 1]!]!, distance });
  });
  return all;
};

const ANY_COUNT = 4_294_967_295;

/** All others within a distance of each row, nearest first. */
export async function neighboursWithin(
  run: Run,
  rows: readonly FeatureRow[],
  others: IndexedCopy,
  reach: Reach,
): Promise<Neighbour[][]> {
  const box = boxAround(rows);
  const near = box ? await rowsIn(run, others, boxesAround(box, others, reach)) : [];
  if (!near) throw crowded();
  return search(rows, near, others, { count: ANY_COUNT, reach: reach.distance, ground: reach.ground });
}

interface NearestQuery {
  count: number;
  /** Infinity for any. */
  reach: number;
  ground: boolean;
}

/** Of a first look, where nothing is known yet. */
const FIRST_METRES = 1000;
/** By which a radius grows that was too short. */
const GROWTH = 4;
/** Share of the rows that the next radius would have been enough for. */
const USUAL = 0.9;

/**
 * Looks for the nearest features of a layer in windows around the rows, which grow until nothing outside of them can be
 * nearer. What the last rows took is where the next ones, their neighbours, begin.
 */
export class NearestWindows {
  #radius = 0;

  constructor(
    private readonly run: Run,
    private readonly others: IndexedCopy,
    private readonly query: NearestQuery,
  ) {}

  /** The nearest of each row, nearest first. */
  async neighbours(rows: readonly FeatureRow[]): Promise<Neighbour[][]> {
    const result: Neighbour[][] = rows.map(() => []);
    let open = rows.map((_, i) => i).filter((i) => rows[i]!.geometry !== null);
    for (let radius = this.#first(rows); open.length > 0; radius *= GROWTH) {
      const part = open.map((i) => rows[i]!);
      const window = await this.#window(part, Math.min(radius, this.query.reach));
      if (!window) return this.#halves(rows);
      const isAll = radius >= this.query.reach || window.length >= this.others.count;
      search(part, window, this.others, this.query).forEach((neighbours, i) => {
        result[open[i]!] = neighbours;
      });
      open = isAll ? [] : open.filter((i) => !this.#isSure(result[i]!, radius));
    }
    const farthest = result.flatMap((neighbours) => neighbours.at(-1)?.distance ?? []).sort((a, b) => a - b);
    this.#radius = farthest[Math.floor(farthest.length * USUAL)] ?? 0;
    return result;
  }

  #isSure(neighbours: readonly Neighbour[], radius: number): boolean {
    return neighbours.length >= this.query.count && neighbours.at(-1)!.distance <= radius;
  }

  #first(rows: readonly FeatureRow[]): number {
    if (this.#radius > 0) return this.#radius;
    if (this.query.ground) return FIRST_METRES;
    const [west, south, east, north] = boxAround(rows) ?? [0, 0, 0, 0];
    return Math.max(east - west, north - south) || 1;
  }

  async #window(rows: readonly FeatureRow[], distance: number): Promise<FeatureRow[] | undefined> {
    const { run, others, query } = this;
    const box = boxAround(rows);
    const reach = { distance, ground: query.ground };
    return box ? rowsIn(run, others, boxesAround(box, others, reach)) : [];
  }

  /** Fewer rows have a smaller window. */
  async #halves(rows: readonly FeatureRow[]): Promise<Neighbour[][]> {
    if (rows.length < 2) throw crowded();
    const middle = Math.ceil(rows.length / 2);
    return [
      ...(await this.neighbours(rows.slice(0, middle))),
      ...(await this.neighbours(rows.slice(middle))),
    ];
  }
}
