import { dirname, extname } from 'node:path';
import { hasCoverage, hasFeatures } from '../../../core/catalog/abilities.js';
import { type CatalogSnapshot, type Collection, readable } from '../../../core/catalog/collection.js';
import { findOwnFile, hasVariables } from '../../../core/catalog/raster-sources.js';
import { and, type Expression } from '../../../core/cql2/index.js';
import { ApiError, badMember, badParameter } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { ItemsTask } from '../../../core/features/features.js';
import { type Box, boxesTouch, createBoxRing, globeExtent, liesOnGlobe } from '../../../core/geometry/box.js';
import { findStatedCrsEntry, LOCAL_CRS, type StatedCrs } from '../../../core/geometry/stated-crs.js';
import type { RasterSource } from '../../../core/rasters/rasters.js';
import { isPath } from '../../../core/sources/sources.js';
import { hasIntegerIds } from '../../../core/sources/vector-source.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { describeCrs, hasLongitudes, transformBox } from '../../../native/index.js';
import { type Guess, listGridGuesses, listGuesses } from '../inspections/guess-crs.js';
import { isCrs } from '../inspections/sidecar-crs.js';
import { RASTER } from '../publish/formats.js';
import type { SourceState } from '../source-states.js';
import type { ChosenCrsDocument, ChosenCrsStore } from './chosen-crs.js';
import type { CrsList } from './crs-list.js';
import { computeExtentInDegrees } from './extent-in-degrees.js';

/** Features of a preview. */
const MAX_FEATURES = 500;
/** Share of the longer side of the data, within which lines and rings of a preview are simplified. */
const SIMPLIFIED_PART = 1 / 2000;
/** Bytes of the features of a preview. */
const MAX_BYTES = 2 << 20;
const DEADLINE_MS = 20_000;
/** Decimal places of longitudes and latitudes. */
const PRECISION = 7;
const MAX_CRS_LENGTH = 4096;
/** Grids of a region that are tested, and grids among the guesses. */
const TESTED_GRIDS = 40;
const MAX_GRIDS = 6;

type CrsOrigin = 'data' | 'configuration' | 'chosen' | 'assumed' | 'none';

/** CRS of a source, where it comes from, and CRSs that the coordinates suggest. */
export interface SourceCrsView {
  readonly origin: CrsOrigin;
  /** Code or definition. Undefined if the source is not published. */
  readonly crs: string | undefined;
  readonly name: string | undefined;
  readonly chosen: ChosenCrsDocument | undefined;
  /** Entry of the configuration, which overrides the chosen CRS. */
  readonly configuredBy: string | undefined;
  readonly guesses: readonly (Guess & { readonly name: string })[];
  /** Extent of the coordinates, x,y ordered, in the units of the data. */
  readonly extent: Box | undefined;
  /** The data is outside the area of use of its CRS. */
  readonly warning: string | undefined;
}

export interface CrsPreview {
  /** GeoJSON features, joined by commas. */
  readonly features: Uint8Array | string;
  readonly count: number;
  /** More features exist. */
  readonly isSample: boolean;
  /** Extent of all data in degrees. Undefined if the coordinates are not on Earth in this CRS. */
  readonly extent84: Box | undefined;
  /** Whether the extent overlaps the area of use. Undefined if the CRS has no such area. */
  readonly isInArea: boolean | undefined;
  readonly name: string;
  readonly areaName: string | undefined;
  readonly areaOfUse: Box | undefined;
}

export interface SourceCrsDeps {
  readonly pools: Pick<Pools, 'run'>;
  readonly store: ChosenCrsStore;
  readonly crsList: Pick<CrsList, 'listProjectedAround'>;
  catalog(): CatalogSnapshot;
  /** CRSs of the configuration in use. */
  configured(): StatedCrs;
  /** Extent of a collection in its own CRS. */
  extentOf(collection: Collection): Box | undefined;
  /** Resolves when all processes show the announced changes, or after one second. */
  settle(): Promise<unknown>;
}

/** Reads and changes the CRS of files that operators choose on the running server. */
export class SourceCrs {
  constructor(private readonly deps: SourceCrsDeps) {}

  async read(source: SourceState): Promise<SourceCrsView> {
    const collection = this.#collectionOf(source);
    const { file, layer } = keyOf(source);
    const chosen = isPath(file) ? await this.deps.store.find(file, layer) : undefined;
    const configured = findStatedCrsEntry(this.deps.configured(), file, layer);
    const extent = collection && this.deps.extentOf(collection);
    const isLocal = chosen?.crs === LOCAL_CRS;
    const assumed = hasFeatures(collection) ? (collection.takenFor ?? collection.assumedCrs) : undefined;
    return {
      origin: findOrigin({ configured, chosen, assumed, collection }),
      crs: collection?.storageCrs.proj,
      name: collection && nameCrs(collection.storageCrs.proj),
      chosen,
      configuredBy: configured?.key,
      guesses: collection && extent ? await this.#listGuesses(collection, extent) : [],
      extent,
      warning:
        collection && extent && !isLocal ? findAreaWarning(collection.storageCrs.proj, extent) : undefined,
    };
  }

  /** An even sample of features in degrees, as they would be with a CRS. `catalog` contains what the caller can read. */
  async preview(source: SourceState, crs: string, catalog: CatalogSnapshot): Promise<CrsPreview> {
    requireAssignable(source, this.#collectionOf(source));
    if (crs === LOCAL_CRS) return NOT_ON_EARTH;
    requireHorizontalCrs(crs, (detail) => badParameter('crs', detail));
    const collection = source.collections[0] && catalog.byId(source.collections[0].id);
    if (source.state !== 'refused' && !collection)
      throw new ApiError('forbidden', 'The caller cannot read the data of this source.');
    const facts = describeFacts(crs);
    if (!hasFeatures(collection)) {
      const outline = await this.#previewRaster(source.source, crs);
      return { ...facts, ...outline, isInArea: overlapsArea(outline.extent84, facts.areaOfUse) };
    }
    const { source: stored, ...query } = readable(collection);
    const extent = this.deps.extentOf(collection);
    const extent84 = extent && computeExtentInDegrees(extent, crs);
    const side = extent84 ? Math.max(extent84[2] - extent84[0], extent84[3] - extent84[1]) : 0;
    const task = {
      ...query,
      source: { ...stored, crs },
      ...({ format: 'geojson', crs: 'OGC:CRS84', swapAxes: false, precision: PRECISION } as const),
      ...{ fields: [], limit: MAX_FEATURES, offset: 0, maxBytes: MAX_BYTES },
      ...(side > 0 && { tolerance: side * SIMPLIFIED_PART }),
    };
    const read = (filter: ItemsTask['filter']) =>
      this.deps.pools.run('vector.items', { ...task, filter }, { deadlineMs: DEADLINE_MS });
    const step = Math.ceil((collection.featureCount ?? 0) / MAX_FEATURES);
    const isThinned = step > 1 && hasIntegerIds(stored);
    const sampled = await read(isThinned ? and(query.filter, everyNth(stored.idColumn, step)) : query.filter);
    // Ids can have gaps, for example if all are even.
    const isPoor = isThinned && sampled.returned < MAX_FEATURES / 4;
    const { features, returned, more } = isPoor ? await read(query.filter) : sampled;
    return {
      ...{ ...facts, features, count: returned, isSample: more || isThinned, extent84 },
      isInArea: overlapsArea(extent84, facts.areaOfUse),
    };
  }

  async #previewRaster(path: string, crs: string): Promise<Omit<CrsPreview, keyof CrsFacts | 'isInArea'>> {
    const task = { source: { kind: 'file', path, crs } } as const;
    const { extent, extent84 } = await this.deps.pools
      .run('raster.inspect', task, { deadlineMs: DEADLINE_MS })
      .catch((error: unknown) => {
        if (!(error instanceof TaskFailure) || error.code !== 'source-unreadable') throw error;
        throw new ApiError('conflict', `The raster cannot be read with this CRS: ${error.message}`);
      });
    const isOnEarth = !hasLongitudes(crs) || liesOnGlobe(extent);
    const box = isOnEarth ? globeExtent(extent84) : undefined;
    const features = box ? JSON.stringify(createBoxFeature(box)) : '';
    return { features, count: box ? 1 : 0, isSample: false, extent84: box };
  }

  /** Chooses the CRS. Resolves when the source was read again. */
  async put(source: SourceState, crs: string, by: string): Promise<void> {
    requireAssignable(source, this.#collectionOf(source));
    this.#requireNotConfigured(source);
    if (crs === LOCAL_CRS) requireFeatures(source, this.#collectionOf(source));
    else requireHorizontalCrs(crs, (detail) => badMember('crs', detail));
    const { file, layer } = keyOf(source);
    await this.deps.store.put(file, layer, crs, by);
    await this.deps.settle();
  }

  /** Removes the chosen CRS: the source has its own CRS again, or an assumed one. */
  async remove(source: SourceState): Promise<void> {
    const { file, layer } = keyOf(source);
    if (!(await this.deps.store.remove(file, layer)))
      throw new ApiError('not-found', `No CRS was chosen for ${source.source}.`);
    await this.deps.settle();
  }

  #requireNotConfigured(source: SourceState): void {
    const { file, layer } = keyOf(source);
    const entry = findStatedCrsEntry(this.deps.configured(), file, layer);
    if (!entry) return;
    throw new ApiError(
      'conflict',
      `The CRS of ${file} is configured: data.crs (--crs) assigns ${entry.crs} to '${entry.key}'. Change it there.`,
    );
  }

  #collectionOf({ state, collections: [first] }: SourceState): Collection | undefined {
    return state === 'refused' || !first ? undefined : this.deps.catalog().byId(first.id);
  }

  async #listGuesses(collection: Collection, extent: Box): Promise<SourceCrsView['guesses']> {
    const { file } = collection;
    const others = this.deps.catalog().collections.filter((one) => one.file !== file);
    const folder = dirname(file);
    const near = others.filter((one) => isPath(one.file) && dirname(one.file) === folder);
    const guesses = listGuesses(extent, near);
    const [all, neighbours] = guesses.some(({ crs }) => crs !== 'OGC:CRS84')
      ? [guesses, near]
      : [listGuesses(extent, others), near.length > 0 ? near : others];
    const grids = await listGridGuesses(extent, neighbours, (region) => this.#findGrids(region));
    const systems = new Set(all.map(({ crs }) => crs));
    const further = grids.filter(({ crs }) => !systems.has(crs)).slice(0, MAX_GRIDS);
    return [...all, ...further].map((guess) => ({ ...guess, name: nameCrs(guess.crs) ?? guess.crs }));
  }

  async #findGrids(region: Box): Promise<string[]> {
    const entries = await this.deps.crsList.listProjectedAround(region, TESTED_GRIDS);
    return entries.map(({ code }) => `EPSG:${code}`);
  }
}

/** File and layer to which a CRS is assigned. The layer is `''` in a file of one layer. */
function keyOf({ source, layer }: SourceState): { file: string; layer: string } {
  return { file: source, layer: layer ?? '' };
}

interface OriginFacts {
  configured: unknown;
  chosen: unknown;
  assumed: unknown;
  collection: Collection | undefined;
}

function findOrigin({ configured, chosen, assumed, collection }: OriginFacts): CrsOrigin {
  if (configured) return 'configuration';
  if (chosen) return 'chosen';
  if (!collection) return 'none';
  return assumed ? 'assumed' : 'data';
}

/** Throws `conflict` for sources whose CRS is not that of a file. */
function requireAssignable(source: SourceState, collection: Collection | undefined): void {
  const problem = findProblem(source, collection);
  if (problem !== undefined)
    throw new ApiError('conflict', `The CRS of ${source.source} cannot be chosen: ${problem}.`);
}

function findProblem({ source, state }: SourceState, collection: Collection | undefined): string | undefined {
  if (!isPath(source)) return 'the source is not a file';
  if (hasFeatures(collection)) {
    if (collection.stac) return 'items of STAC are in degrees';
    return collection.source.path === undefined ? 'the source is not a file' : undefined;
  }
  if (!RASTER.has(extname(source).toLowerCase()))
    return state === 'refused' ? 'the file is not published' : 'only vector files and rasters have one CRS';
  if (hasCoverage(collection) && !hasOwnFile(collection.raster.source))
    return 'the raster is a part of a larger file';
  return undefined;
}

const hasOwnFile = (source: RasterSource) => findOwnFile(source) !== undefined && !hasVariables(source);

/** Reason why operators cannot choose the CRS of a source. Undefined if they can. */
export function findCrsProblem(source: SourceState, catalog: CatalogSnapshot): string | undefined {
  const [first] = source.collections;
  return findProblem(source, first && source.state !== 'refused' ? catalog.byId(first.id) : undefined);
}

/** Throws for rasters, which the server cannot draw in local units. */
function requireFeatures(source: SourceState, collection: Collection | undefined): void {
  if (!hasFeatures(collection))
    throw new ApiError(
      'conflict',
      `${source.source} cannot have local units, because only vector data is drawn without a CRS.`,
    );
}

/** Features whose ids are multiples of a number. */
function everyNth(idColumn: string, step: number): Expression {
  return { op: '=', args: [{ op: '%', args: [{ property: idColumn }, step] }, 0] } as Expression;
}

/** Preview of data in local units. */
const NOT_ON_EARTH: CrsPreview = {
  ...{ name: 'Local units', areaName: undefined, areaOfUse: undefined, isInArea: undefined },
  ...{ features: '', count: 0, isSample: false, extent84: undefined },
};

function findAreaWarning(crs: string, extent: Box): string | undefined {
  try {
    const { name, areaName, areaOfUse } = describeFacts(crs);
    const extent84 = computeExtentInDegrees(extent, crs);
    if (overlapsArea(extent84, areaOfUse) !== false) return undefined;
    return extent84
      ? `The data is outside the area of use of ${name}: ${areaName}`
      : `The coordinates are not on Earth in ${name}.`;
  } catch {
    return undefined;
  }
}

/** Throws for texts that are not a geographic or projected CRS. */
export function requireHorizontalCrs(crs: string, fail: (detail: string) => ApiError): void {
  if (crs.length > MAX_CRS_LENGTH || !isCrs(crs))
    throw fail(`'${crs.slice(0, 100)}' is not a CRS that PROJ knows. Use a code such as EPSG:27700`);
  if (!canTransform(crs))
    throw fail(`'${crs.slice(0, 100)}' has no positions on Earth. Use a geographic or projected CRS`);
}

function canTransform(crs: string): boolean {
  const { wkt } = describeCrs(crs);
  if (!/^(PROJCRS|GEOGCRS|COMPOUNDCRS|BOUNDCRS|DERIVEDPROJCRS)/.test(wkt)) return false;
  try {
    transformBox([0, 0, 1, 1], crs, 'OGC:CRS84');
    return true;
  } catch (error) {
    // A box outside the area of the CRS is not an error of the CRS.
    return !/no transformation/.test((error as Error).message);
  }
}

type CrsFacts = Pick<CrsPreview, 'name' | 'areaName' | 'areaOfUse'>;

function describeFacts(crs: string): CrsFacts {
  const { name, areaName, areaOfUse } = describeCrs(crs);
  return { name, areaName, areaOfUse };
}

function nameCrs(crs: string): string | undefined {
  try {
    return describeCrs(crs).name;
  } catch {
    return undefined;
  }
}

function overlapsArea(extent: Box | undefined, area: Box | undefined): boolean | undefined {
  if (!area) return undefined;
  return extent !== undefined && boxesTouch(extent, area);
}

function createBoxFeature(box: Box): object {
  const geometry = { type: 'Polygon', coordinates: [createBoxRing(box)] };
  return { type: 'Feature', properties: {}, geometry };
}
