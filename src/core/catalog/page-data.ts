import type { Feature } from 'geojson';
import type { Clause } from '../features/filter-clauses.js';
import type { PopupTemplate } from '../features/popup.js';
import type { Box } from '../geometry/box.js';
import type { FieldType } from '../sources/vector-source.js';
import type { StyleLayer } from '../styles/model.js';

/** Data of a page for its scripts: JSON in `<script type="application/json" id="map-data">`. Types only. */

export type MapGeometry = 'point' | 'line' | 'polygon' | 'mixed';

interface LayerData {
  readonly id: string;
  readonly title: string;
  /** URL template with {z}, {x}, {y}. */
  readonly tiles: string;
  /** CRS84; west > east crosses the antimeridian. */
  readonly extent: Box | null;
  readonly minZoom: number;
  /** Zoom of the most detailed tiles; further zooming magnifies them. */
  readonly maxZoom: number;
}

export interface VectorLayerData extends LayerData {
  readonly kind: 'vector';
  readonly encoding: 'mvt' | 'mlt';
  /** Layers inside the tiles. */
  readonly sourceLayers: readonly string[];
  readonly geometry: MapGeometry;
  /** Bottom first. */
  readonly style: readonly StyleLayer[];
  /** Items of the collection; a feature's page is this URL, a slash and its id. */
  readonly items: string | null;
  /** Number of features, which the server may have estimated. Null: unknown. */
  readonly count: number | null;
  /** Cells that count the points at low zooms. Null for layers without cells. */
  readonly cells: CellsData | null;
}

/** Drawing of a layer with many points at low zooms. */
export type PointDrawing = 'cells' | 'points';

export interface CellsData {
  /** URL template with {z}, {x}, {y}. */
  readonly tiles: string;
  /** Zoom from which points are drawn in either case. */
  readonly below: number;
  /** Drawing of a map whose URL does not name one. */
  readonly preferred: PointDrawing;
}

export interface RasterLayerData extends LayerData {
  readonly kind: 'raster';
}

export type MapLayerData = VectorLayerData | RasterLayerData;

/** `attribution` is plain text. */
export type BasemapData =
  /** Vector tiles of the layers land, coast, borders, regions and names. */
  | {
      readonly kind: 'own';
      readonly tiles: string;
      readonly maxZoom: number;
      readonly attribution: string;
    }
  /** URL template of image tiles. */
  | { readonly kind: 'tiles'; readonly tiles: string; readonly attribution: string }
  /** URL of a MapLibre style. */
  | { readonly kind: 'style'; readonly href: string; readonly attribution: string };

export interface FeaturesData {
  /** URL of a GeoJSON feature or feature collection; its features are in the order of the page's rows. */
  readonly href?: string;
  /** The features, if they are part of the page. */
  readonly inline?: readonly Feature[];
  readonly title: string;
  readonly style: readonly StyleLayer[];
}

export interface MapData {
  /** Base URL that the links start with. */
  readonly baseUrl: string;
  /** CRS84 box to show first. */
  readonly bounds: Box | null;
  /** Top layer first. */
  readonly layers: readonly MapLayerData[];
  /** Base map of the page. Null: none. */
  readonly basemap: BasemapData | null;
  /** The features of this page, drawn from GeoJSON above the layers. */
  readonly features: FeaturesData | null;
}

/** Format of an export on a page. */
export interface ExportFormatData {
  /** Value of the parameter `f`. */
  readonly f: string;
  readonly title: string;
  /** Whether a job writes the file. Other files are streamed. */
  readonly isJob: boolean;
  /** Average bytes of a feature. Null: unknown. */
  readonly bytes: number | null;
  /** Bytes of a file without features. */
  readonly base: number;
  /** Changes that the format makes to fields. */
  readonly notes: readonly string[];
}

/** Data of the filter form, in `<script type="application/json" id="filter-data">`. */
export interface FilterData {
  readonly baseUrl: string;
  readonly collection: string;
  /** URL of the items, without parameters. Below the same URL, `count`, `export` and `statistics` are next to it. */
  readonly items: string;
  /** Parameters of the page that also select features, as a query string. */
  readonly selection: string;
  /** Parameters of the page that only change its view, as a query string. */
  readonly view: string;
  /** Conditions of the page's filter. Null if conditions cannot express it. */
  readonly clauses: readonly Clause[] | null;
  /** Combination of the conditions. */
  readonly combination: 'and' | 'or';
  /** Null where a box of degrees says nothing. */
  readonly geometry: string | null;
  readonly fields: readonly FilterField[];
  readonly exports: readonly ExportFormatData[];
}

interface FilterField {
  readonly name: string;
  readonly title: string;
  readonly type: FieldType;
  /** All values that it may have, where the store says so. */
  readonly values?: readonly string[];
}

/** Data of a page that follows changes, `<script type="application/json" id="live-data">`. */
export interface LiveData {
  readonly baseUrl: string;
  /** URL of the feature stream. */
  readonly stream: string;
  readonly layers: readonly LiveLayer[];
}

export interface LiveLayer {
  readonly id: string;
  readonly layerId: number;
  readonly title: string;
  /** Items of the collection; a feature's page is this URL, a slash and its id. */
  readonly items: string;
}

/** Additional data of the map viewer, in `<script type="application/json" id="viewer-data">`. */
export interface ViewerData {
  readonly baseUrl: string;
  /** Data of the layers in `map-data`, in the same order. */
  readonly layers: readonly ViewerLayerData[];
}

export interface ViewerLayerData {
  readonly id: string;
  readonly title: string;
  readonly extent: Box | null;
  /** Times of the layer. Null for a layer without times. */
  readonly time: LayerTime | null;
  /** Values of a raster. Null for layers without values. */
  readonly coverage: CoverageData | null;
  /** Popup template of the features. Null: all attributes. */
  readonly popup: PopupTemplate | null;
}

/** Source of the times of a layer: a list of instants, or a property. */
export type LayerTime =
  | { readonly kind: 'instants'; readonly instants: readonly string[] }
  | { readonly kind: 'property'; readonly name: string; readonly items: string };

export interface CoverageData {
  /** URL of the coverage, without parameters. */
  readonly href: string;
  /** Degrees of a pixel, about. */
  readonly pixel: number;
  readonly bands: readonly BandData[];
}

interface BandData {
  readonly name: string;
  readonly unit: string | null;
  /** Names of classes by value. Null: the values are quantities, or classes without names. */
  readonly classes: Readonly<Record<string, string>> | null;
}

/** Form field of a process input: `layer` and `raster` are a collection or URL, `json` is a document. */
export type ProcessField = 'layer' | 'raster' | 'value' | 'json';

/** Data of the process form, in `<script type="application/json" id="process-data">`. Paths are of this site. */
export interface ProcessData {
  readonly execution: string;
  readonly jobs: string;
  readonly signIn: string;
  readonly inputs: Readonly<Record<string, ProcessField>>;
  /** The output that may become a collection. */
  readonly output: string | null;
  /** Names of geometries, by the ids of collections. */
  readonly geometries: Readonly<Record<string, string>>;
}

/** A job, `<script type="application/json" id="job-data">`. Paths of this site. */
export interface JobData {
  readonly job: string;
  readonly cancel: { readonly path: string; readonly method: 'DELETE' | 'POST' };
  readonly retry: string;
  readonly isActive: boolean;
  /** URL and body of the request that repeats the job. Absent if no request can. */
  readonly repeat?: { readonly execution: string; readonly body: unknown };
  /** Path of the list of jobs. */
  readonly jobs: string;
}
