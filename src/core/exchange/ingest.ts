import { createHash } from 'node:crypto';
import type { RemoteProblem } from '../errors/remote-problems.js';
import type { Candidate } from '../geocoding/geocoding.js';
import type { Box } from '../geometry/box.js';
import type { ListedObjects, ListObjectsTask, ObjectTask } from '../sources/object-stores.js';
import type { FieldType, GeometryType } from '../sources/vector-source.js';
import type { SceneSearch, SceneSearchTask } from '../stac/stac-scenes.js';
import type { GeoServerCatalog, GeoServerTask } from './geoserver.js';
import type { FeatureComparison, FeatureComparisonTask } from './parity.js';

/**
 * Tasks that send requests to other servers, if `remote.allow` permits them. Redirects are not followed; time and
 * bytes are limited.
 */

/** Header of requests to other servers: names the server that imports (`serverMark`). */
export const IMPORT_HEADER = 'graticule-import';

/** Mark of the server of a state, derived from the id of the state. The id cannot be computed from it. */
export const serverMark = (stateId: string): string =>
  createHash('sha256').update(`import mark ${stateId}`).digest('hex').slice(0, 32);

export interface IngestWorkerData {
  readonly remoteHosts: readonly string[];
  readonly serverMark: string | undefined;
}

/** A request to another server. */
export interface RemoteRequest {
  readonly url: string;
  /** Timeout of the complete response. */
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by POST. */
  readonly form?: Readonly<Record<string, string>>;
  /** JSON that is sent by POST. */
  readonly json?: string;
}

export interface DownloadTask extends RemoteRequest {
  /** File to create; must not exist. Removed again when the task fails. */
  readonly path: string;
  readonly maxBytes: number;
}

export interface Download {
  readonly bytes: number;
  readonly mediaType: string | undefined;
}

export const SOURCE_KINDS = [
  'ogc-api-features',
  'ogc-api-tiles',
  'ogc-api-maps',
  'ogc-wfs',
  'ogc-wms',
  'ogc-wmts',
  'arcgis-geoservices-rest',
  'stac',
] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

export interface RemoteField {
  readonly name: string;
  readonly alias?: string;
  readonly type?: string;
  readonly length?: number;
  readonly nullable?: boolean;
}

/** A layer, collection, feature type or tileset of another server. */
export interface RemoteLayer {
  readonly kind: SourceKind;
  /** Name on the server. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly layerId?: number;
  readonly layerType?: string | undefined;
  readonly geometryType?: string | undefined;
  readonly srid?: number | undefined;
  readonly featureCount?: number | undefined;
  readonly hasAttachments?: boolean;
  readonly extent?: { readonly box: Box; readonly srid: number } | undefined;
  readonly fields?: readonly RemoteField[];
}

export interface RemoteService {
  readonly kind: SourceKind;
  readonly name: string;
  readonly description?: string | undefined;
  readonly url: string;
  /** Catalog folder of the service. */
  readonly folder?: string;
  readonly srid?: number | undefined;
  /** Maximum features of a response. */
  readonly maxRecordCount?: number | undefined;
  readonly layers: readonly RemoteLayer[];
}

/** Services found at a URL. */
export interface Discovery {
  /** The URL that the services were read from. */
  readonly url: string;
  readonly isCatalog: boolean;
  /** The one that the URL names comes first. */
  readonly services: readonly RemoteService[];
  readonly warnings: readonly string[];
}

/** A service whose kind is known. */
export interface ServiceTask extends RemoteRequest {
  readonly kind: SourceKind;
}

export type ServiceAnswer = RemoteService | { readonly problem: RemoteProblem };

export interface ItemsPlanTask extends RemoteRequest {
  readonly collectionId: string;
  /** Whether the request contains a filter. */
  readonly isFiltered: boolean;
}

export interface ItemsPlan {
  /** URL of the items. */
  readonly items: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** Whether the server declares that it filters. */
  readonly isFiltered: boolean;
}

/** A page that is appended to a file. */
interface PageTask extends RemoteRequest {
  /** GeoJSON text sequence. */
  readonly output: string;
  /** Start of the page in the file. */
  readonly offset: number;
  /** Maximum features to write. */
  readonly limit: number;
}

interface IngestPage {
  /** Start of the next page in the file. */
  readonly offset: number;
  /** Number of written features, and of features in the page. */
  readonly count: number;
  readonly returned: number;
  /** Ids of the written features, as JSON. */
  readonly ids: readonly string[];
  /** Features of all pages, as the server says. */
  readonly matched: number | undefined;
}

export type ItemsPageTask = PageTask;

export interface RemoteItemsPage extends IngestPage {
  readonly next?: string;
  /** Reason of a 400 response. */
  readonly refusal?: string;
  /** Media type of a response that is not GeoJSON. */
  readonly mediaType?: string;
}

export interface WfsPlanTask extends RemoteRequest {
  readonly version?: string | undefined;
}

export interface WfsPlan {
  readonly version: string;
  readonly types: readonly RemoteLayer[];
  /** Format name of GeoJSON on the server; undefined if it is not supported. */
  readonly geoJson: string | undefined;
}

/** Features of a type, from a place on. */
export interface WfsQuery extends RemoteRequest {
  readonly version: string;
  readonly typeName: string;
  readonly startIndex: number;
  readonly count: number;
}

export interface WfsPageTask extends WfsQuery {
  readonly format: string;
  readonly output: string;
  readonly offset: number;
}

export interface WfsPage extends IngestPage {
  /** CRS that the page names. */
  readonly srid?: number;
}

export interface WfsGmlTask extends WfsQuery {
  /** File to create. */
  readonly path: string;
}

/** Properties of a GML page. */
export interface WfsGml {
  readonly returned: number | undefined;
  readonly matched: number | undefined;
  readonly isEmpty: boolean;
}

export interface AppendTask {
  /** GeoJSON text sequence, which has as many features as a page. */
  readonly path: string;
  readonly output: string;
  readonly offset: number;
  /** Attribute that identifies features. */
  readonly idProperty: string;
}

/** A page of a GeoJSON text sequence that an earlier run wrote. */
export interface PageIdsTask {
  readonly path: string;
  /** Start and end of the page. */
  readonly begin: number;
  readonly end: number;
  /** Attribute that identifies features if their ids do not. */
  readonly idProperty?: string | undefined;
}

/** Protocol of remote coverages. */
export type CoverageProtocol = 'wcs' | 'ogc-api-coverages';

export interface CoveragePlanTask extends RemoteRequest {
  readonly protocol: CoverageProtocol;
  readonly version?: string | undefined;
  /** Default: all. */
  readonly ids?: readonly string[] | undefined;
}

/** A coverage of another server. */
export interface RemoteCoverage {
  readonly id: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** Band names, if the server returns them. */
  readonly bands: readonly string[];
  readonly crs?: string | undefined;
  /** Answers the whole of it as GeoTIFF. */
  readonly url: string;
}

export interface CoveragePlan {
  /** Version of the server; empty for OGC API. */
  readonly version: string;
  readonly coverages: readonly RemoteCoverage[];
}

/** Tiles of a level of another server. */
export interface RemoteLevel {
  /** Name of the tile matrix on the server. */
  readonly matrix: string;
  /** In WebMercatorQuad. */
  readonly zoom: number;
  readonly minRow: number;
  readonly maxRow: number;
  readonly minColumn: number;
  readonly maxColumn: number;
}

/** Tiles of a layer in a tile matrix set of another server. */
export interface RemoteTileSet {
  readonly layer: string;
  readonly matrixSet: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** In CRS84; the world when the server does not say. */
  readonly extent84: Box;
  readonly styles: readonly string[];
  readonly formats: readonly string[];
  /** Levels by zoom. Empty with the reason if the set is not WebMercatorQuad. */
  readonly levels: readonly RemoteLevel[];
  readonly refusal?: string;
  /** URL with `{Style}`, `{Format}`, `{TileMatrix}`, `{TileRow}` and `{TileCol}`, by format. */
  readonly templates: Readonly<Record<string, string>>;
}

/** Tiles to request together. */
export interface RemoteTilesTask extends Omit<RemoteRequest, 'url'> {
  readonly urls: readonly string[];
}

/** A layer of a FeatureServer or MapServer, by its URL. */
export interface GeoServicesTask extends RemoteRequest {
  /** Condition in SQL that features must pass. */
  readonly where: string;
}

export interface GeoServicesField {
  readonly name: string;
  readonly alias?: string | undefined;
  readonly type: FieldType;
  readonly domain?: unknown;
}

/** One end of a relationship, as the layer of that end describes it. */
export interface GeoServicesRelationship {
  /** Both ends have the same. */
  readonly id: number;
  readonly name: string;
  readonly relatedLayerId: number;
  readonly cardinality: 'one-to-one' | 'one-to-many' | 'many-to-many';
  readonly role: 'origin' | 'destination';
  /** Field of this end. */
  readonly keyField: string;
}

/** A layer of GeoServices as its server describes it. */
export interface GeoServicesLayer {
  readonly name: string;
  readonly description?: string | undefined;
  readonly geometryType: GeometryType;
  readonly hasZ: boolean;
  /** Its rows have no geometries. */
  readonly isTable: boolean;
  readonly hasAttachments: boolean;
  readonly objectIdField: string;
  readonly fields: readonly GeoServicesField[];
  /** Names of fields whose values cannot be had as JSON. */
  readonly unreadable: readonly string[];
  readonly drawingInfo?: unknown;
  readonly relationships: readonly GeoServicesRelationship[];
  /** EPSG code of its coordinates. */
  readonly srid?: number | undefined;
  readonly maxRecordCount: number;
  /** Features that pass, as the server counts them. */
  readonly count: number;
}

export interface GeoServicesIdsTask extends GeoServicesTask {
  readonly objectIdField: string;
  /** File of signed 64-bit integers to write. */
  readonly idsPath: string;
}

/** Features of a layer by the ids in a file. */
export interface GeoServicesPageTask extends RemoteRequest {
  readonly idsPath: string;
  readonly from: number;
  readonly count: number;
  readonly objectIdField: string;
  readonly geometryType: GeometryType;
  readonly hasZ: boolean;
  readonly isTable: boolean;
  readonly srid: number;
  /** Columns, and the fields that they are read from. */
  readonly columns: readonly { readonly name: string; readonly field: string; readonly type: FieldType }[];
  readonly output: string;
  readonly offset: number;
}

/** Attachments of some features of a layer. */
export interface GeoServicesAttachmentsTask extends RemoteRequest {
  /** Decimal text: they have 64 bits. */
  readonly objectIds: readonly string[];
}

export interface GeoServicesAttachment {
  readonly objectId: string;
  readonly id: number;
  readonly name: string;
  readonly mediaType: string | undefined;
  /** Size according to the server. */
  readonly size: number | undefined;
  readonly keywords: string;
}

/** A request to a GeocodeServer of another server, whose address is `url`. */
export interface GeocoderRequest extends Omit<RemoteRequest, 'form' | 'headers'> {
  readonly verb: 'findAddressCandidates' | 'suggest' | 'reverseGeocode';
  readonly parameters: Readonly<Record<string, string>>;
}

export interface GeocoderAnswer {
  /** Candidates and suggestions of the remote locator. */
  readonly candidates: readonly Candidate[];
  readonly suggestions: readonly { readonly text: string; readonly key: string }[];
}

export interface IngestTasks {
  /** Searches a STAC API for scenes. `timeoutMs` is for all requests together. */
  'ingest.stacScenes': { input: SceneSearchTask; output: SceneSearch };
  'ingest.geocoder': { input: GeocoderRequest; output: GeocoderAnswer };
  /** A layer of GeoServices, described and counted. */
  'ingest.geoservicesLayer': { input: GeoServicesTask; output: GeoServicesLayer };
  /** Writes the ids of matching features to a file, in order, and returns their number. */
  'ingest.geoservicesIds': { input: GeoServicesIdsTask; output: number };
  'ingest.geoservicesPage': { input: GeoServicesPageTask; output: Pick<IngestPage, 'offset' | 'count'> };
  'ingest.geoservicesAttachments': { input: GeoServicesAttachmentsTask; output: GeoServicesAttachment[] };
  'ingest.wfsPlan': { input: WfsPlanTask; output: WfsPlan };
  /** Features of a type, as the server says; null when it does not. */
  'ingest.wfsCount': { input: WfsQuery; output: number | null };
  'ingest.wfsPage': { input: WfsPageTask; output: WfsPage };
  'ingest.wfsGml': { input: WfsGmlTask; output: WfsGml };
  /** Ids of the features of a page, as JSON; null when the file is not there or does not reach the end of the page. */
  'ingest.pageIds': { input: PageIdsTask; output: string[] | null };
  /** Compares features of a source with the imported features. */
  'ingest.compareFeatures': { input: FeatureComparisonTask; output: FeatureComparison };
  'ingest.append': { input: AppendTask; output: Pick<IngestPage, 'offset' | 'count' | 'ids'> };
  /** Finds the items URL of a collection of OGC API Features. */
  'ingest.itemsPlan': { input: ItemsPlanTask; output: ItemsPlan };
  'ingest.itemsPage': { input: ItemsPageTask; output: RemoteItemsPage };
  /** Finds out what a URL leads to. `timeoutMs` is for all requests together. */
  'ingest.discover': { input: RemoteRequest; output: Discovery };
  /** A service of one kind with its layers, or what keeps it from being read. `timeoutMs` is for all requests together. */
  'ingest.service': { input: ServiceTask; output: ServiceAnswer };
  /** Lists the coverages of a server with their request parameters. */
  'ingest.coveragePlan': { input: CoveragePlanTask; output: CoveragePlan };
  /** A whole coverage as a GeoTIFF onto the disk. */
  'ingest.coverage': { input: DownloadTask; output: Download };
  /** Tile sets of a WMTS. */
  'ingest.wmtsPlan': {
    input: RemoteRequest & { readonly version?: string | undefined };
    output: RemoteTileSet[];
  };
  /** Requests tiles. Null for tiles that the server does not have. Fails if a request fails. */
  'ingest.tiles': { input: RemoteTilesTask; output: (Uint8Array | null)[] };
  /** A service of GeoServices REST, with its layers described and counted. `timeoutMs` is for all requests together. */
  'ingest.geoservices': { input: RemoteRequest; output: RemoteService };
  /**
   * Reads the contents of a GeoServer; `url` is the root of its REST API. `timeoutMs` applies to all requests
   * together.
   */
  'ingest.geoserver': { input: GeoServerTask; output: GeoServerCatalog };
  /** A GeoJSON text sequence, of at least one feature, as a FeatureCollection: OGR takes texts for dates in sequences. */
  'ingest.collect': { input: { readonly path: string; readonly output: string }; output: null };
  /** A page of the objects of a bucket. */
  'ingest.objects': { input: ListObjectsTask; output: ListedObjects };
  /** An object of a bucket onto the disk. */
  'ingest.object': { input: ObjectTask; output: Download };
  /** A remote file onto the disk. */
  'ingest.download': { input: DownloadTask; output: Download };
}
