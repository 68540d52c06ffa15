import type { FeatureRow } from '../../../core/features/features.js';
import type { Box } from '../../../core/geometry/box.js';
import type { Reach } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { describeCrs } from '../../../native/index.js';
import { NearestIndex, type Neighbours } from '../../../native/proximity.js';
import { expandBoxOnGlobe, withMargins } from '../../providers/boxes.js';
import type { MemoryLayer } from '../layers.js';
import { batchesIn, computeGeometriesBox, listGeometries, type ProcessRun } from '../run.js';
import type { IndexedCopy } from './copy.js';

/** A feature, and how far away it is: metres over the ground, or units of the plane. */
export interface Neighbour {
  readonly row: FeatureRow;
  readonly distance: number;
}

/** Boxes that contain everything within a distance of a box. */
export function boxesAround(box: Box, crs: string, { distance, ground }: Reach): Box[] {
  return ground
    ? expandBoxOnGlobe(box, distance / describeCrs(crs).metresPerUnit)
    : [withMargins(box, distance, distance)];
}

function listNeighbours(
  rows: readonly FeatureRow[],
  near: readonly FeatureRow[],
  { pairs, distances }: Neighbours,
): Neighbour[][] {
  const all: Neighbour[][] = rows.map(() => []);
  distances.forEach((distance, i) => {
    all[pairs[2 * i]!]!.push({ row: near[pairs[2 * i + 1]!]!, distance });
  });
  return all;
}

interface NearestQuery {
  count: number;
  /** Infinity for any. */
  reach: number;
  ground: boolean;
}

/** The nearest features of a layer. */
export interface NearestFeatures {
  /** The nearest of each row, nearest first. */
  neighbours(rows: readonly FeatureRow[]): Promise<Neighbour[][]>;
}

/** Searches all features of a layer. */
export class NearestAmong implements NearestFeatures {
  readonly #index: NearestIndex;

  constructor(
    private readonly others: MemoryLayer,
    private readonly query: NearestQuery,
  ) {
    this.#index = new NearestIndex(others.crs, query.ground).add(listGeometries(others.all));
  }

  async neighbours(rows: readonly FeatureRow[]): Promise<Neighbour[][]> {
    return listNeighbours(rows, this.others.all, this.#index.search(listGeometries(rows), this.query));
  }
}

/** Radius of the first search, before any distance is known. */
const FIRST_METRES = 1000;
/** More than half of the way around the Earth. */
const FARTHEST_METRES = 20_100_000;
/** By which a radius grows that was too short. */
const GROWTH = 4;
/** Share of the rows that the next radius would have been enough for. */
const USUAL = 0.9;

/** Merges two lists of neighbours, nearest first. A neighbour in two windows is in both lists. */
function nearer(a: readonly Neighbour[], b: readonly Neighbour[], count: number): Neighbour[] {
  const ids = new Set(a.map(({ row }) => row.id));
  const all = [...a, ...b.filter(({ row }) => !ids.has(row.id))];
  return all.sort((one, other) => one.distance - other.distance).slice(0, count);
}

/**
 * Finds the nearest features of a layer in windows around the rows. The windows grow until no feature outside them
 * can be nearer. The final radius of the last rows is the first radius for the next rows, their neighbours. A tree of
 * the complete layer would be faster if it fits into memory, and would fail otherwise.
 */
export class NearestWindows implements NearestFeatures {
  #radius = 0;
  /** Maximum distance of features that count. */
  readonly #farthest: number;

  constructor(
    private readonly run: ProcessRun,
    private readonly others: IndexedCopy,
    private readonly query: NearestQuery,
  ) {
    this.#farthest = query.ground ? Math.min(query.reach, FARTHEST_METRES) : query.reach;
  }

  async neighbours(rows: readonly FeatureRow[]): Promise<Neighbour[][]> {
    const result: Neighbour[][] = rows.map(() => []);
    let open = rows.map((_, i) => i).filter((i) => computeGeometriesBox([rows[i]!]) !== undefined);
    for (let radius = this.#first(rows); open.length > 0; radius *= GROWTH) {
      const part = open.map((i) => rows[i]!);
      const { neighbours, isAll } = await this.#look(part, Math.min(radius, this.#farthest));
      neighbours.forEach((near, i) => {
        result[open[i]!] = near;
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
    const [west, south, east, north] = computeGeometriesBox(rows) ?? [0, 0, 0, 0];
    return Math.max(east - west, north - south) || 1;
  }

  /** Returns the nearest features within a distance of the rows, and whether these are all features. */
  async #look(
    rows: readonly FeatureRow[],
    distance: number,
  ): Promise<{ neighbours: Neighbour[][]; isAll: boolean }> {
    const { run, others, query } = this;
    const boxes = boxesAround(computeGeometriesBox(rows)!, others.source.crs, {
      distance,
      ground: query.ground,
    });
    let neighbours: Neighbour[][] = rows.map(() => []);
    let read = 0;
    let part: FeatureRow[] = [];
    const look = () => {
      const index = new NearestIndex(others.source.crs, query.ground).add(listGeometries(part));
      const nearest = listNeighbours(rows, part, index.search(listGeometries(rows), query));
      neighbours = neighbours.map((near, i) => nearer(near, nearest[i]!, query.count));
      read += part.length;
      part = [];
    };
    // Memory contains only a part of the window and the nearest features, however full the window is.
    for await (const batch of batchesIn(run, others, boxes)) {
      part.push(...batch);
      if (part.length >= PROCESS_LIMITS.processNearest) look();
    }
    look();
    // Features in two boxes were counted twice.
    const isAll = distance >= this.#farthest || (boxes.length === 1 && read >= others.count);
    return { neighbours, isAll };
  }
}
