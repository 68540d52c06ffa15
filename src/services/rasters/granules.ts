import type { RasterCollection } from '../../core/catalog/collection.js';
import { listMosaicMembers } from '../../core/catalog/raster-sources.js';
import type { Box } from '../../core/geometry/box.js';
import type { MosaicMember } from '../../core/rasters/rasters.js';

/** One raster of a collection: the file itself, a member of its mosaic, or one step of its time axis. */
export interface Granule {
  /** Names it within the collection; the id of its STAC item. */
  readonly id: string;
  readonly extent84: Box;
  /** Acquisition time in milliseconds since 1970. Undefined if unknown. */
  readonly acquired: number | undefined;
  /** Member of a mosaic. */
  readonly member?: MosaicMember;
  /** Index into the time axis. */
  readonly time?: number;
}

const instantLists = new WeakMap<RasterCollection, readonly Granule[]>();

/** The rasters of a collection, in drawing order or in the order of the time axis. */
export function listGranules(collection: RasterCollection): readonly Granule[] {
  let granules = instantLists.get(collection);
  if (!granules) instantLists.set(collection, (granules = listed(collection)));
  return granules;
}

const instants = new WeakMap<RasterCollection, readonly string[]>();

/** The instants at which anything of a collection was acquired, oldest first, each once, in RFC 3339. */
export function listInstants(collection: RasterCollection): readonly string[] {
  let list = instants.get(collection);
  if (!list) {
    const all = new Set(listGranules(collection).flatMap(({ acquired }) => acquired ?? []));
    list = [...all].sort((a, b) => a - b).map((instant) => new Date(instant).toISOString());
    instants.set(collection, list);
  }
  return list;
}

function listed({ id, raster }: RasterCollection): Granule[] {
  const { source, times, extent84 } = raster;
  const members = listMosaicMembers(source);
  if (members) {
    return members.map((member) => ({
      id: member.id,
      extent84: member.extent84,
      acquired: findInstant(member.acquired),
      member,
    }));
  }
  if (times && times.length > 0) {
    return times.map((text, time) => {
      const acquired = findInstant(text);
      return { id: `${id}_${acquired === undefined ? time : compact(acquired)}`, extent84, acquired, time };
    });
  }
  return [{ id, extent84, acquired: findInstant(raster.acquired) }];
}

function findInstant(text: string | undefined): number | undefined {
  const instant = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

/** `19990115T120000Z`: as identifiers and file names may have it. */
function compact(instant: number): string {
  const text = new Date(instant).toISOString();
  return text.replace(/[-:]/g, '').replace(/\.000Z$/, 'Z');
}
