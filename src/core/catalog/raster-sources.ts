import type { BandInfo, Merge, MosaicMember, RasterMosaic, RasterSource } from '../rasters/rasters.js';
import type { StacSource } from '../stac/stac-source.js';

/** Declaration of a kind of raster source. The readers are in src/workers/rasters/sources. */
interface Declaration<S extends RasterSource> {
  /** Whether reading it waits for other servers. */
  isDistant(source: S): boolean;
  /** File, store or URL of the source. Undefined if there are several or if it must not be shown. */
  place(source: S): string | undefined;
  /** All files, stores and URLs of the source, without those of its members. */
  places(source: S): readonly string[];
  /** Local file of the source, if it contains only this source. */
  ownFile(source: S): string | undefined;
  /** Member rasters of a mosaic; undefined for a single raster. */
  members(source: S): readonly MosaicMember[] | undefined;
  /** Whether the bands are variables of a multidimensional file, which can have different quantities. */
  hasVariables(source: S): boolean;
}

const one = {
  members: () => undefined,
  ownFile: () => undefined,
  isDistant: () => false,
  hasVariables: () => false,
};

const DECLARATIONS: { [K in RasterSource['kind']]: Declaration<Extract<RasterSource, { kind: K }>> } = {
  file: {
    ...one,
    place: ({ path }) => path,
    places: ({ path }) => [path],
    ownFile: ({ path, table }) => (table === undefined ? path : undefined),
  },
  gridded: {
    ...one,
    place: ({ path }) => path,
    places: ({ path }) => [path],
    ownFile: ({ path }) => (/^\w+:\/\//.test(path) ? undefined : path),
    hasVariables: () => true,
  },
  remote: { ...one, place: ({ url }) => url, places: ({ url }) => [url], isDistant: () => true },
  stack: {
    ...one,
    place: () => undefined,
    places: ({ parts }) => parts.map(({ url }) => url),
    isDistant: () => true,
  },
  'postgis-raster': { ...one, place: () => undefined, places: () => [], isDistant: () => true },
  mosaic: {
    ...one,
    place: () => undefined,
    places: () => [],
    isDistant: ({ members, search }) =>
      search !== undefined || members.some(({ source }) => isDistant(source)),
    members: ({ members }) => members,
    hasVariables: ({ members: [first] }) => first !== undefined && hasVariables(first.source),
  },
};

const declarationOf = (source: RasterSource) => DECLARATIONS[source.kind] as Declaration<RasterSource>;

/** Whether the bands of a raster are variables of a multidimensional file. */
export const hasVariables = (source: RasterSource): boolean => declarationOf(source).hasVariables(source);

/** Whether reading a raster waits for other servers. */
export const isDistant = (source: RasterSource): boolean => declarationOf(source).isDistant(source);

/** Location of a raster for display. */
export const describeRasterLocation = (source: RasterSource): string =>
  declarationOf(source).place(source) ?? source.kind;

/** All files, stores and URLs that a raster and its members are read from. */
export function listRasterLocations(source: RasterSource): string[] {
  const own = declarationOf(source).places(source);
  return [
    ...own,
    ...(listMosaicMembers(source) ?? []).flatMap((member) => listRasterLocations(member.source)),
  ];
}

/** Local file of a raster, if it contains only this raster. */
export const findOwnFile = (source: RasterSource): string | undefined =>
  declarationOf(source).ownFile(source);

/** Member rasters of a mosaic; undefined for a single raster. */
export const listMosaicMembers = (source: RasterSource): readonly MosaicMember[] | undefined =>
  declarationOf(source).members(source);

/** A source that has members; undefined for every other. */
export const findMosaicSource = (source: RasterSource): RasterMosaic | undefined =>
  'members' in source ? source : undefined;

/** Whether a time interval selects all rasters in it instead of the newest acquisition. */
export const isByRange = (source: RasterSource): boolean => findMosaicSource(source)?.byRange === true;

/** Whether the values of all rasters of a range of time become one. */
export const isMergedByRange = (source: RasterSource): boolean =>
  isByRange(source) && findMosaicMerge(source) !== undefined;

/** STAC search that finds the members of a mosaic; undefined for stored members. */
export const findSceneSearch = (source: RasterSource): StacSource | undefined =>
  findMosaicSource(source)?.search;

/** The same mosaic with the oldest member on top; what has no time stays below. */
export function withOldestOnTop(source: RasterMosaic): RasterMosaic {
  const undated = source.members.filter(({ acquired }) => acquired === undefined);
  const dated = source.members.filter(({ acquired }) => acquired !== undefined).toReversed();
  const parseInstant = ({ acquired }: MosaicMember) => Date.parse(acquired!);
  dated.sort((a, b) => parseInstant(b) - parseInstant(a));
  const { search, order: _, ...rest } = source;
  return { ...rest, members: [...undated, ...dated], ...(search && { search, order: 'oldest' }) };
}

/** The same mosaic of fewer members. */
export function ofMembers(source: RasterSource, members: readonly MosaicMember[]): RasterSource {
  return { ...source, members } as RasterSource;
}

/** Merge method of a mosaic; undefined for single rasters and for overlapping rasters. */
export const findMosaicMerge = (source: RasterSource): Merge | undefined => findMosaicSource(source)?.merge;

/** The same mosaic with the values of its members merged. */
export function withMerge(source: RasterSource, merge: Merge): RasterSource {
  return { ...source, merge } as RasterSource;
}

/** Reason why rasters with these bands cannot be merged; undefined if they can. */
export function mergeProblem(
  bands: readonly Pick<BandInfo, 'type' | 'colorInterpretation'>[],
): string | undefined {
  if (bands.some(({ colorInterpretation }) => colorInterpretation === 'Palette'))
    return 'values that name colours cannot be merged';
  if (bands.some(({ colorInterpretation }) => colorInterpretation === 'Alpha'))
    return 'rasters with an alpha band cannot be merged';
  return bands.every(({ type }) => MERGED_TYPES.has(type))
    ? undefined
    : 'values of this type cannot be merged';
}

const MERGED_TYPES: ReadonlySet<string> = new Set([
  ...['Byte', 'UInt16', 'Int16', 'UInt32', 'Int32', 'Float32', 'Float64'],
]);

/** Whether pixels come from a Zarr store; of a mosaic, whether any does. */
export function isZarr(source: RasterSource): boolean {
  const members = listMosaicMembers(source);
  if (members) return members.some((member) => isZarr(member.source));
  return /\.zarr\/?$/i.test(declarationOf(source).place(source) ?? '');
}
