import { hasCoverage } from '../../core/abilities.js';
import type { Box } from '../../core/box.js';
import type { Collection, RasterCollection } from '../../core/collection.js';
import type { Batch, TimeRange } from '../../core/params.js';
import { sceneSearchOf } from '../../core/raster-sources.js';
import type { RasterMosaic } from '../../core/rasters.js';
import { interval } from '../shown-time.js';
import { cellsOf } from './cells.js';
import { sceneMembers } from './mosaic.js';
import { type Runner, waitFor } from './waiting.js';
import { scenesIn } from './window-searches.js';

/** What is asked of collections whose scenes are searched for each window. */
export interface SceneWindow {
  /** CRS84; may lie across the antimeridian. The whole of a collection when absent. */
  readonly window84: Box | undefined;
  readonly datetime: Batch | undefined;
  /** Aborted when nobody waits any more. */
  readonly signal?: AbortSignal | undefined;
}

/** The collections with the scenes that a window needs; those that are no searches stay what they are. */
export async function withScenes<C extends Collection>(
  pools: Runner,
  collections: readonly C[],
  window: SceneWindow,
): Promise<readonly C[]> {
  if (!collections.some((one) => hasCoverage(one) && sceneSearchOf(one.raster.source))) return collections;
  return Promise.all(
    collections.map((one) => (hasCoverage(one) ? withItsScenes(pools, one, window) : one)),
  ) as Promise<C[]>;
}

/** A collection with the scenes that a window needs. Rejects with `TaskFailure` when they cannot be searched for. */
export async function withItsScenes<C extends RasterCollection>(
  pools: Runner,
  collection: C,
  { window84, datetime, signal }: SceneWindow,
): Promise<C> {
  const { raster } = collection;
  const source = sceneSearchOf(raster.source);
  if (!source) return collection;
  const time = narrowed(source.datetime, datetime?.range ?? datetime);
  const area = source.bbox ?? raster.extent84;
  const cells = time === null ? [] : cellsOf(window84 ?? area, area);
  const searches = cells.map((cell) => scenesIn(pools, { ...source, bbox: cell }, time ?? undefined));
  const scenes = await waitFor(Promise.all(searches), signal);
  const unique = [...new Map(scenes.flat().map((one) => [`${one.collection}\0${one.id}`, one])).values()];
  const { search: _, ...mosaic } = raster.source as RasterMosaic;
  return {
    ...collection,
    raster: { ...raster, source: { ...mosaic, members: sceneMembers(source, unique) } },
  };
}

/** A range of time within that of the source, as APIs take it; null when they do not meet, undefined for all time. */
export function narrowed(
  ofSource: string | undefined,
  asked: TimeRange | undefined,
): string | null | undefined {
  if (!asked) return ofSource;
  const [first, last = first] = (ofSource ?? '../..').split('/').map((text) => Date.parse(text));
  const bound = (value: number | undefined, open: number) =>
    value === undefined || Number.isNaN(value) ? open : value;
  const start = Math.max(bound(first, -Infinity), asked.start ?? -Infinity);
  const end = Math.min(bound(last, Infinity), asked.end ?? Infinity);
  if (start > end) return null;
  return Number.isFinite(start) || Number.isFinite(end) ? interval(start, end) : undefined;
}
