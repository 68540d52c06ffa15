import type { Expression } from '../cql2/ast.js';
import type { LogCommits } from '../files/commit-count.js';
import type { Box } from '../geometry/box.js';
import type { Crs } from '../geometry/crs.js';
import type { BandInfo, RasterInfo } from '../rasters/rasters.js';
import type { Activity } from '../sources/activity.js';
import type { VectorSource } from '../sources/vector-source.js';
import type { FileStyle, MapStyle, NamedStyle } from '../styles/model.js';
import type { ArchiveContainer, ArchiveFormat, VectorLayerMetadata } from '../tiles/archives.js';
import { BUILT_IN_SETS, type MatrixSets } from '../tiles/tile-matrix.js';
import { hasCoverage, hasFeatures, hasStoredTiles, isServed } from './abilities.js';
import type { LayerAbout, MapSettings, Relationship, ServiceProtocol } from './layer-settings.js';

/** How tiles of a collection are made. What is absent restricts nothing. */
export interface TileSettings {
  /** Zoom levels of WebMercatorQuad, first and last; in other sets the matrices of about their scales. */
  readonly minZoom?: number;
  readonly maxZoom?: number;
  /** Names of the attributes that vector tiles carry. */
  readonly properties?: readonly string[];
  /** Most bytes and features of its layer in one vector tile. */
  readonly maxBytes?: number;
  readonly maxFeatures?: number;
  /** Seconds that clients may keep a tile. */
  readonly maxAge?: number;
}

/** What one published collection is, on every surface at once. */
interface CollectionBase {
  /** Identifier on features, coverages and STAC. */
  readonly id: string;
  /** Identifier on tiles and maps, and the layer id of the management API. Stable across restarts. */
  readonly layerId: number;
  readonly title: string;
  readonly description: string;
  /** CRS84: west, south, east, north. */
  readonly extent84: Box | undefined;
  readonly storageCrs: Crs;
  /** CRSs that clients may ask for; the first is CRS84. */
  readonly crs: readonly Crs[];
  /** File that the data comes from, or the URL of its database without passwords. */
  readonly file: string;
  /** See `VectorLayerInfo.identity`. */
  readonly identity?: string;
  /**
   * Changes whenever the content may have changed otherwise than by edits of ours, which say where they were. Part of
   * every cache key.
   */
  readonly version: string;
  /** Names the data as `version` does, but is the same in every process that publishes it. */
  readonly origin: string;
  /** Milliseconds since the epoch at which a database was read: what was made before may be of other data. */
  readonly readAt?: number;
  readonly tiles?: TileSettings;
  /** What operators say of it. */
  readonly about?: LayerAbout;
  /** The service that it belongs to; the default one when absent. */
  readonly service?: string;
  /** On no surface, for nobody: operators alone see it. */
  readonly isDisabled?: true;
  /** Surfaces that it is on; all when absent. */
  readonly protocols?: readonly ServiceProtocol[];
  /** How maps of its service are made. */
  readonly maps?: Partial<MapSettings>;
  /** Not everybody may read it, or not as it is here: no cache between us and the caller may keep answers. */
  readonly isPrivate?: true;
  /** The published collections that it is a copy of. */
  readonly derivedFrom?: readonly Collection[];
  /** What operators should know about the data, which is published all the same. */
  readonly warning?: string;
}

export interface VectorCollection extends CollectionBase {
  readonly kind: 'vector';
  readonly source: VectorSource;
  /** Undefined while nobody has counted what a rule leaves. */
  readonly featureCount: number | undefined;
  /** Counters of its table in a database, from before its features were counted. */
  readonly activity?: Activity;
  /** True when `featureCount` is the database's estimate. */
  readonly countEstimated?: boolean;
  /** Extent in the CRS of the data, where this is a plane without a place on Earth. */
  readonly extent?: Box;
  /** Set where nothing names the CRS: what the coordinates were taken for. */
  readonly takenFor?: 'degrees' | 'plane';
  /** Cursor of the last edit that `featureCount` and `extent84` know of. */
  readonly cursor: number;
  /** Commits to the file that were read; absent where they cannot be counted. */
  readonly commits?: LogCommits;
  readonly style: MapStyle;
  /** Further styles that its source brings along. */
  readonly styles?: readonly NamedStyle[];
  /** Those that cannot be drawn. */
  readonly unreadStyles?: readonly FileStyle[];
  /** Of STAC items that were read from a catalog: the document of their collection, as it was read. */
  readonly stac?: Readonly<Record<string, unknown>>;
  /** Rows of other layers that belong to its own, by the settings of the layer. */
  readonly relationships?: readonly Relationship[];
  /** What is kept from who reads: `source` then lacks the hidden fields, and tells of masked ones as they are shown. */
  readonly rule?: ReadRule;
}

export interface ReadRule {
  /** Whether it holds for everybody, by the settings of the layer, or for some callers. */
  readonly scope: 'everybody' | 'caller';
  /** Only rows that pass exist; all when absent. A checked filter, which may name masked fields. */
  readonly rows: Expression | undefined;
  /** The source with all its fields, of which some have masks. */
  readonly stored: VectorSource;
  /** Version of the collection without the rule. */
  readonly version: string;
  /** Finds out how many rows there are and where they lie; absent once that is known. Never rejects. */
  readonly measure?: () => Promise<void>;
}

/** The collection with all its fields, those too that settings or rules hide. */
export function whole(collection: VectorCollection): VectorCollection {
  return collection.rule ? { ...collection, source: collection.rule.stored } : collection;
}

/** How a store is asked for what may be read of a collection. */
export function readable({ source, rule }: VectorCollection): {
  source: VectorSource;
  fields?: string[];
  filter: Expression | undefined;
} {
  if (!rule) return { source, filter: undefined };
  const fields = source.fields.map(({ name }) => name);
  return { source: rule.stored, fields, filter: rule.rows };
}

/** Whether nobody has found out yet what a rule leaves of a collection. */
export function isUnmeasured(collection: Collection): boolean {
  return hasFeatures(collection) && collection.featureCount === undefined;
}

/** Resolves when it is known what rules leave of the collections, or that it cannot be found out. Never rejects. */
export async function measureRules(collections: readonly (Collection | undefined)[]): Promise<void> {
  await Promise.all(collections.map((one) => (hasFeatures(one) ? one.rule?.measure?.() : undefined)));
}

export interface RasterCollection extends CollectionBase {
  readonly kind: 'raster';
  readonly raster: RasterInfo;
  readonly bands: readonly BandInfo[];
  readonly style: MapStyle;
  /** Further styles that its source brings along. */
  readonly styles?: readonly NamedStyle[];
  /** Numbers of the registered rasters that it is made of; a mosaic has each as the member of that name. */
  readonly rasterIds?: readonly number[];
}

/** A tile archive: tiles are served as they are stored. */
export interface ArchiveCollection extends CollectionBase {
  readonly kind: 'archive';
  readonly container: ArchiveContainer;
  readonly format: ArchiveFormat;
  readonly minZoom: number;
  readonly maxZoom: number;
  /** Layers in the tiles of a vector archive, as far as its metadata lists them. */
  readonly vectorLayers: readonly VectorLayerMetadata[];
  /** Who is to be named with the tiles; may hold markup. */
  readonly attribution: string | undefined;
}

export type Collection = VectorCollection | RasterCollection | ArchiveCollection;

/** First and last zoom level of WebMercatorQuad at which a collection is in tiles. */
export function tileLevels(collection: Collection): { first: number; last: number } {
  const { minZoom = 0, maxZoom = Number.POSITIVE_INFINITY } = collection.tiles ?? {};
  if (!hasStoredTiles(collection)) {
    // A matrix of a smaller scale than level 0 is still the first one.
    return { first: minZoom === 0 ? Number.NEGATIVE_INFINITY : minZoom, last: maxZoom };
  }
  return { first: Math.max(minZoom, collection.minZoom), last: Math.min(maxZoom, collection.maxZoom) };
}

export function hasTilesAt(collection: Collection, level: number): boolean {
  const { first, last } = tileLevels(collection);
  return level >= first && level <= last;
}

/** A source that could not be published, and why. */
export interface QuarantineEntry {
  readonly path: string;
  readonly layer?: string;
  readonly reason: string;
  /** Set when it may be read again soon: its host did not answer. */
  readonly passing?: boolean;
  /** Nothing of it could be read yet: what it held before comes back with it. */
  readonly isUnread?: true;
  /** Names of what it held before. */
  readonly awaited?: readonly AwaitedCollection[];
}

/** A collection that was published once and is not there now, because its source could not be read. */
export type AwaitedCollection = Pick<Collection, 'id' | 'layerId' | 'service'>;

/** Why a collection may not be read: nobody said who asks, or who asks may not. */
export type AccessRefusal = 'unauthenticated' | 'forbidden';

const NOTHING_REFUSED = { collections: [], why: 'forbidden' } as const;

/** Everything published at one moment. Immutable: a reload makes a new one. */
export class CatalogSnapshot {
  #byId: ReadonlyMap<string, Collection> | undefined;
  #byLayerId: ReadonlyMap<number, Collection> | undefined;
  #onEarth: CatalogSnapshot | undefined;
  readonly #serving = new Map<ServiceProtocol, CatalogSnapshot>();

  constructor(
    readonly collections: readonly Collection[],
    readonly quarantined: readonly QuarantineEntry[],
    /** Counts reloads; shown to operators. */
    readonly generation: number,
    readonly matrixSets: MatrixSets = BUILT_IN_SETS,
    /** Collections that exist, but not for who reads. */
    readonly refused: {
      readonly collections: readonly AwaitedCollection[];
      readonly why: AccessRefusal;
    } = NOTHING_REFUSED,
    /** Collections that exist, but are left out because where they lie on Earth is not known. */
    readonly planes: readonly Collection[] = [],
  ) {}

  byId(id: string): Collection | undefined {
    this.#byId ??= new Map(this.collections.map((one) => [one.id, one]));
    return this.#byId.get(id);
  }

  byLayerId(layerId: number): Collection | undefined {
    this.#byLayerId ??= new Map(this.collections.map((one) => [one.layerId, one]));
    return this.#byLayerId.get(layerId);
  }

  /** The same catalog with other definitions of some collections, by their ids. */
  replacing(changed: ReadonlyMap<string, Collection>): CatalogSnapshot {
    return this.with({ collections: this.collections.map((one) => changed.get(one.id) ?? one) });
  }

  /** The same catalog with other collections. */
  with({
    collections,
    refused = this.refused,
    planes = this.planes,
    quarantined = this.quarantined,
  }: Pick<CatalogSnapshot, 'collections'> &
    Partial<Pick<CatalogSnapshot, 'refused' | 'planes' | 'quarantined'>>): CatalogSnapshot {
    const { generation, matrixSets } = this;
    return new CatalogSnapshot(collections, quarantined, generation, matrixSets, refused, planes);
  }

  /**
   * The same catalog for what needs places on Earth: without collections in planes of their own. APIs that need a
   * location on Earth get this catalog, so that none of them checks again.
   */
  get onEarth(): CatalogSnapshot {
    return (this.#onEarth ??= this.#withoutPlanes());
  }

  /** The same catalog as one surface shows it: without collections that are switched off there. */
  serving(protocol: ServiceProtocol): CatalogSnapshot {
    let serving = this.#serving.get(protocol);
    if (!serving) this.#serving.set(protocol, (serving = this.#withoutUnserved(protocol)));
    return serving;
  }

  #withoutUnserved(protocol: ServiceProtocol): CatalogSnapshot {
    const collections = this.collections.filter((one) => isServed(one, protocol));
    return collections.length === this.collections.length ? this : this.with({ collections });
  }

  #withoutPlanes(): CatalogSnapshot {
    const planes = this.collections.filter(({ storageCrs }) => storageCrs.isPlane);
    if (planes.length === 0) return this;
    const placed = this.collections.filter((collection) => !planes.includes(collection));
    return this.with({ collections: placed, planes });
  }

  get vectors(): VectorCollection[] {
    return this.collections.filter(hasFeatures);
  }

  get rasters(): RasterCollection[] {
    return this.collections.filter(hasCoverage);
  }
}

/** The box in CRS84 around collections, undefined where that is not known; the whole turn of longitudes when one of them crosses the antimeridian. */
export function jointExtent(collections: readonly Collection[]): Box | undefined {
  const boxes = collections.map((c) => c.extent84).filter((box): box is Box => box !== undefined);
  if (boxes.length === 0 || collections.some(isUnmeasured)) return undefined;
  if (boxes.length === 1) return boxes[0];
  const wraps = boxes.some(([west, , east]) => west > east);
  return [
    wraps ? -180 : Math.min(...boxes.map((b) => b[0])),
    Math.min(...boxes.map((b) => b[1])),
    wraps ? 180 : Math.max(...boxes.map((b) => b[2])),
    Math.max(...boxes.map((b) => b[3])),
  ];
}
