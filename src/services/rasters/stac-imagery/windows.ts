import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../../core/catalog/collection.js';
import { findSceneSearch, withOldestOnTop } from '../../../core/catalog/raster-sources.js';
import type { Box } from '../../../core/geometry/box.js';
import type { AcquisitionTime, TimeRange } from '../../../core/http/params.js';
import type { RasterMosaic } from '../../../core/rasters/rasters.js';
import type { Scene } from '../../../core/stac/stac-scenes.js';
import { isInTimeRange } from '../choose.js';
import { interval } from '../shown-time.js';
import { listCoveringCells } from './cells.js';
import { sceneMembers } from './mosaic.js';
import { type Runner, waitFor } from './search-turns.js';
import { scenesIn } from './window-searches.js';

/** Window for collections whose scenes are searched for each window. */
export interface SceneWindow {
  /** Window in CRS84. It can cross the antimeridian. Undefined: the complete collection. */
  readonly window84: Box | undefined;
  readonly datetime: AcquisitionTime | undefined;
  /** Aborted when no caller waits any more. */
  readonly signal?: AbortSignal | undefined;
}

/** The collections with the scenes that a window needs. Collections without a scene search remain unchanged. */
export async function withScenes<C extends Collection>(
  pools: Runner,
  collections: readonly C[],
  window: SceneWindow,
): Promise<readonly C[]> {
  if (!collections.some((one) => hasCoverage(one) && findSceneSearch(one.raster.source))) return collections;
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
  const source = findSceneSearch(raster.source);
  if (!source) return collection;
  const range = datetime?.range ?? datetime;
  const time = searchTime(source.datetime, range);
  const area = source.bbox ?? raster.extent84;
  const cells = time === null ? [] : listCoveringCells(window84 ?? area, area);
  const searches = cells.map((cell) => scenesIn(pools, { ...source, bbox: cell }, time ?? undefined));
  const scenes = await waitFor(Promise.all(searches), signal);
  const unique = ranked(scenes).filter((scene) => isInTimeRange({ acquired: findInstant(scene) }, range));
  const { search: _, order, ...mosaic } = raster.source as RasterMosaic;
  const visible = { ...mosaic, members: sceneMembers(source, unique) };
  return {
    ...collection,
    raster: { ...raster, source: order === 'oldest' ? withOldestOnTop(visible) : visible },
  };
}

/** Each scene once, by its best rank in a search, because tiles of other cells must have the same order. */
function ranked(searches: readonly (readonly Scene[])[]): Scene[] {
  const best = new Map<string, { scene: Scene; rank: number }>();
  for (const scenes of searches)
    for (const [rank, scene] of scenes.entries()) {
      const key = `${scene.collection}\0${scene.id}`;
      const before = best.get(key);
      if (!before || rank < before.rank) best.set(key, { scene, rank });
    }
  return [...best]
    .sort(([a, one], [b, other]) => one.rank - other.rank || (a < b ? -1 : 1))
    .map(([, { scene }]) => scene);
}

const DAY_MS = 86_400_000;

/** Time range of a search, in whole days, so that clients with different times of a day share a search. */
export function searchTime(
  ofSource: string | undefined,
  asked: TimeRange | undefined,
): string | null | undefined {
  if (!asked || narrowed(ofSource, asked) === null) return narrowed(ofSource, asked);
  const { start = -Infinity, end = Infinity } = asked;
  const first = Math.floor(start / DAY_MS) * DAY_MS;
  const last = (Math.floor(end / DAY_MS) + 1) * DAY_MS - 1;
  return narrowed(ofSource, { start: first, end: last });
}

/** Milliseconds since 1970. Undefined if unknown. */
function findInstant({ acquired }: Scene): number | undefined {
  const instant = Date.parse(acquired ?? '');
  return Number.isNaN(instant) ? undefined : instant;
}

/** A range of time within that of the source, as APIs take it; null when they do not meet, undefined for all time. */
function narrowed(ofSource: string | undefined, asked: TimeRange | undefined): string | null | undefined {
  if (!asked) return ofSource;
  const [first, last = first] = (ofSource ?? '../..').split('/').map((text) => Date.parse(text));
  const bound = (value: number | undefined, open: number) =>
    value === undefined || Number.isNaN(value) ? open : value;
  const start = Math.max(bound(first, -Infinity), asked.start ?? -Infinity);
  const end = Math.min(bound(last, Infinity), asked.end ?? Infinity);
  if (start > end) return null;
  return Number.isFinite(start) || Number.isFinite(end) ? interval(start, end) : undefined;
}
