import type { Expression } from '../cql2/ast.js';
import type { LogCommits } from '../files/commit-count.js';
import type { Box } from '../geometry/box.js';
import type { Crs } from '../geometry/crs.js';
import type { AssumedCrs } from '../geometry/stated-crs.js';
import type { BandInfo, RasterInfo } from '../rasters/rasters.js';
import type { Activity } from '../sources/activity.js';
import type { VectorSource } from '../sources/vector-source.js';
import type { FileStyle, MapStyle, NamedStyle } from '../styles/model.js';
import type { ArchiveContainer, ArchiveFormat, VectorLayerMetadata } from '../tiles/archives.js';
import { BUILT_IN_SETS, type MatrixSets } from '../tiles/tile-matrix.js';
import { hasCoverage, hasFeatures, hasStoredTiles, isServed } from './abilities.js';
import type { LayerAbout, MapSettings, Relationship, ServiceProtocol } from './layer-settings.js';

/** Tile settings of a collection. Absent members do not restrict. */
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

/** Members of all published collections. */
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
  /** CRSs that clients can request. The first is CRS84. */
  readonly crs: readonly Crs[];
  /** File that the data comes from, or the URL of its database without passwords. */
  readonly file: string;
  /** See `VectorLayerInfo.identity`. */
  readonly identity?: string;
  /**
   * Version of the content. It changes with each possible change of the content, except for edits by this server,
   * which report their extent. Part of every cache key.
   */
  readonly version: string;
  /** Names the data as `version` does, but is the same in every process that publishes it. */
  readonly origin: string;
  /** Milliseconds since the epoch at which a database was read: what was made before may be of other data. */
  readonly readAt?: number;
  readonly tiles?: TileSettings;
  /** Settings by operators. */
  readonly about?: LayerAbout;
  /** The service that contains the collection. Default: the default service. */
  readonly service?: string;
  /** Set if the collection is disabled: no API serves it, and only operators see it. */
  readonly isDisabled?: true;
  /** APIs that serve the collection. Default: all. */
  readonly protocols?: readonly ServiceProtocol[];
  /** Map settings of its service. */
  readonly maps?: Partial<MapSettings>;
  /** Set if not all callers receive the same data. Caches between server and caller must not store responses. */
  readonly isPrivate?: true;
  /** The published collections that it is a copy of. */
  readonly derivedFrom?: readonly Collection[];
  /** Problem of the published data. See `assumedCrs` for its CRS. */
  readonly warning?: string;
}

export interface VectorCollection extends CollectionBase {
  readonly kind: 'vector';
  readonly source: VectorSource;
  /** Undefined until the visible rows are counted. */
  readonly featureCount: number | undefined;
  /** Counters of its table in a database, from before its features were counted. */
  readonly activity?: Activity;
  /** True when `featureCount` is the database's estimate. */
  readonly countEstimated?: boolean;
  /** Extent in the CRS of the data, x,y ordered. Absent after an edit, unless the CRS is a plane without a place on Earth. */
  readonly extent?: Box;
  /** Set where nothing names the CRS: what the coordinates were taken for. */
  readonly takenFor?: 'degrees' | 'plane';
  /** Set if the data declares no CRS, and the CRS in use can be wrong. */
  readonly assumedCrs?: AssumedCrs;
  /** Cursor of the last edit that `featureCount` and `extent84` know of. */
  readonly cursor: number;
  /** Commits to the file that were read; absent where they cannot be counted. */
  readonly commits?: LogCommits;
  readonly style: MapStyle;
  /** Further styles that its source brings along. */
  readonly styles?: readonly NamedStyle[];
  /** Those that cannot be drawn. */
  readonly unreadStyles?: readonly FileStyle[];
  /** Collection document of a STAC catalog, for items read from one. */
  readonly stac?: Readonly<Record<string, unknown>>;
  /** Rows of other layers that belong to its own, by the settings of the layer. */
  readonly relationships?: readonly Relationship[];
  /**
   * Restrictions of the reader. `source` then lacks hidden fields, and describes masked fields in their masked form.
   */
  readonly rule?: ReadRule;
}

export interface ReadRule {
  /** Whether the rule applies to all callers (layer settings) or to some callers (policies). */
  readonly scope: 'everybody' | 'caller';
  /** Filter of the visible rows, checked; it can use masked fields. Default: all rows. */
  readonly rows: Expression | undefined;
  /** The source with all its fields, of which some have masks. */
  readonly stored: VectorSource;
  /** Version of the collection without the rule. */
  readonly version: string;
  /** Determines number and extent of the visible rows. Absent once they are known. Never rejects. */
  readonly measure?: () => Promise<void>;
}

/** The collection with all its fields, those too that settings or rules hide. */
export function whole(collection: VectorCollection): VectorCollection {
  return collection.rule ? { ...collection, source: collection.rule.stored } : collection;
}

/** Arguments for a store query of the readable part of a collection. */
export function readable({ source, rule }: VectorCollection): {
  source: VectorSource;
  fields?: string[];
  filter: Expression | undefined;
} {
  if (!rule) return { source, filter: undefined };
  const fields = source.fields.map(({ name }) => name);
  return { source: rule.stored, fields, filter: rule.rows };
}

/** Whether the number and extent of the visible rows are still unknown. */
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

/** Tile archive, whose stored tiles are served. */
export interface ArchiveCollection extends CollectionBase {
  readonly kind: 'archive';
  readonly container: ArchiveContainer;
  readonly format: ArchiveFormat;
  readonly minZoom: number;
  readonly maxZoom: number;
  /** Layers in the tiles of a vector archive, as far as its metadata lists them. */
  readonly vectorLayers: readonly VectorLayerMetadata[];
  /** Attribution of the tiles. It can contain HTML. */
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
  /** Set if the source can be read again soon, because its host did not respond. */
  readonly passing?: boolean;
  /** Set if no part of the source has been read yet. Its previous collections return with it. */
  readonly isUnread?: true;
  /** Collections that the source had before. */
  readonly awaited?: readonly AwaitedCollection[];
}

/** A collection that was published once and is not there now, because its source could not be read. */
export type AwaitedCollection = Pick<Collection, 'id' | 'layerId' | 'service'>;

/** Reason why a collection cannot be read: missing or insufficient credentials. */
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
    /** Existing collections that the caller cannot read. */
    readonly refused: {
      readonly collections: readonly AwaitedCollection[];
      readonly why: AccessRefusal;
    } = NOTHING_REFUSED,
    /** Existing collections with a local CRS, which `onEarth` omits. */
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
   * The catalog without collections with a local CRS. APIs that need a position on Earth use it, so that none of them
   * checks again.
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
