/** Queries, pages and counts of feature stores. */

import type { Expression } from '../cql2/ast.js';
import type { Box } from '../geometry/box.js';
import type { Field, VectorSource } from '../sources/vector-source.js';
import type { ExactNumber } from '../values/exact-number.js';
import type { RowsForm } from './item-rows.js';
import type { MapResultsForm } from './map-results.js';

/**
 * Features of a source that match a checked filter; undefined means all features. The member is required, because it
 * contains the restriction to the rows of the caller.
 */
export interface FeatureQuery {
  source: VectorSource;
  filter: Expression | undefined;
}

export interface SortKey {
  /** A field of the source, or its id column. */
  field: string;
  descending: boolean;
}

/** A place in an ordered listing: the values of the sort keys at one feature, and its id. */
export interface PageKey {
  values: (string | number | boolean | null)[];
  id: string;
}

/** Quantization: coordinates become integer steps from an origin in the output CRS. */
export interface Quantisation {
  x: number;
  y: number;
  /** Units of the CRS in a step, and units of height. */
  scale: number;
  zScale: number;
  /** Whether y is counted to the south. */
  upperLeft: boolean;
  /** Whether invisible parts are omitted: repeated positions, and lines and rings that collapse. */
  view: boolean;
}

/** Output format of features. */
export interface FeatureOutput {
  /**
   * `geojson`: features joined by commas. `csv`: records of id, WKT and fields, each ended by CRLF, without a header.
   * `gml`: `sf:featureMember` elements. `esri-json`: features of GeoServices JSON joined by commas, coordinates x,y.
   * `esri-pbf`: members `features` of a FeatureResult of Esri's FeatureCollection.proto, each with its key.
   */
  format: 'geojson' | 'csv' | 'gml' | 'esri-json' | 'esri-pbf';
  /** Output CRS, anything PROJ reads. */
  crs: string;
  /** True when the output CRS is defined northing or latitude first: coordinates are written y,x. */
  swapAxes: boolean;
  /** Decimal places of coordinates. */
  precision: number;
  /** Attribute names to write. Default: all. */
  fields?: string[];
  /** Property that repeats the id (only `geojson`). */
  idProperty?: string;
  /** True: geometries are omitted (null in GeoJSON). */
  skipGeometry?: boolean;
  /** `csv` only: whether strings that spreadsheets would read as formulas get an apostrophe. */
  guardsFormulas?: boolean;
  /** For `esri-json` and `esri-pbf`: heights are kept. */
  z?: boolean;
  /** Tolerance of simplification in units of the CRS, except for `csv` and `gml`. */
  tolerance?: number;
  /** `esri-json` and `esri-pbf`: whether features have centroids. */
  centroid?: boolean;
  /** `esri-json` and `esri-pbf`: coordinates are integers. Required for `esri-pbf`. */
  quantisation?: Quantisation;
  /** For `geojson`: features have a member `loss` where their geometry is not what is stored (`GeometryLoss`). */
  loss?: boolean;
  /** For `gml`: the local name of the feature elements, and the srsName of their geometries. */
  gml?: { type: string; srsName: string };
}

/** A page in the order of `sort`, then of the id. */
export interface ItemsTask extends FeatureQuery, FeatureOutput {
  limit: number;
  offset: number;
  sort?: SortKey[];
  /** Only what follows this key; `offset` counts from there. */
  after?: PageKey;
  /** The page that ends just before this key, backwards. */
  before?: PageKey;
  /** Reads the page that ends just before this key, and would have this many features, from its start. */
  endsBefore?: { key: PageKey; limit: number };
  /** Writing stops with the feature that reaches this size, before the page is full. */
  maxBytes?: number;
  /** Counts matching features up to this number, unless the page contains all of them. */
  countAtMost?: number;
  /** Form of the features. Default: as the store wrote them. */
  form?: PageForm;
}

/**
 * Form of a page: ids from CSV, separated by commas or as varints; map service results from Esri JSON; table rows
 * from GeoJSON.
 */
export type PageForm = { readonly kind: 'ids' | 'packed-ids' } | MapResultsForm | RowsForm;

export interface ItemsResult {
  features: Uint8Array;
  returned: number;
  /** True when another feature follows the last one (with `before`: precedes the first one). */
  more: boolean;
  /** Start of the page before `endsBefore`. Without `after`, it starts at the first feature. */
  start?: { after?: PageKey };
  /** Keys of the first and last feature; absent for an empty page. */
  first?: PageKey;
  last?: PageKey;
  /** Matching features, as requested by `countAtMost`; absent if the page contains all of them. */
  matched?: number;
}

/** The same features without anything but their keys. */
export function keysOnly({ maxBytes, gml, countAtMost, form, ...task }: ItemsTask): ItemsTask {
  return { ...task, format: 'geojson', skipGeometry: true, fields: [] };
}

/** Whether a page contains all matching features. */
export function holdsAllMatches(
  { after, before, offset }: ItemsTask,
  { more, returned }: ItemsResult,
): boolean {
  return !more && !after && !before && (returned > 0 || offset === 0);
}

export interface ItemTask extends FeatureQuery, FeatureOutput {
  id: string;
}

export interface ItemResult {
  /** The feature as the output format writes it. */
  data: Uint8Array;
  /**
   * Hash of the stored row, 16 hexadecimal digits, independent of the output. Not for callers who cannot read the
   * complete row.
   */
  row: string;
  /** The same of the fields that the task names; `row` when it names none. */
  shown: string;
}

export interface ExtentResult {
  /** Extent in the CRS of the source; undefined if it is empty or takes too long to compute. */
  extent?: Box;
  /** Extent in CRS84; also undefined if it cannot be expressed in degrees. */
  extent84?: Box;
}

export interface CountTask extends FeatureQuery {
  /** Maximum of the count. */
  atMost?: number;
  /**
   * Milliseconds after which a store that blocks its thread fails with `too-large`. Other stores are cancelled.
   * Default: no limit.
   */
  withinMs?: number;
}

/** Counts features for a limited time. */
export interface TimedCountTask extends FeatureQuery {
  /** Milliseconds. */
  withinMs: number;
}

/** Number of features. If the time was too short, there are more than `count`. */
export interface TimedCount {
  readonly count: number;
  readonly isExact: boolean;
}

/** A count of the values that features are written without. */
export interface LossesTask extends FeatureQuery {
  /** Names of the fields that are written. */
  fields: string[];
}

/** Values of query rows that GeoJSON and CSV cannot represent. */
export interface Losses {
  /** Rows whose value is infinite or not a number, by the name of the field; only fields that have some. */
  readonly notFinite: Readonly<Record<string, number>>;
  /** Number of geometries by kind of loss. */
  readonly geometries: Readonly<Partial<Record<LossKind, number>>>;
}

export const LOSS_KINDS = ['arcs', 'surfaces', 'measures', 'coordinates', 'unreadable'] as const;
export type LossKind = (typeof LOSS_KINDS)[number];

export const NO_LOSSES: Losses = { notFinite: {}, geometries: {} };

/** Losses from the first row of a statement: counts of the fields, then of the kinds of losses. */
export function readLosses(fields: readonly Pick<Field, 'name'>[], counts: readonly unknown[]): Losses {
  const present = (names: readonly string[], first: number) =>
    Object.fromEntries(
      names.flatMap((name, i) => {
        const count = Number(counts[first + i] ?? 0);
        return count > 0 ? [[name, count]] : [];
      }),
    );
  const names = fields.map(({ name }) => name);
  return { notFinite: present(names, 0), geometries: present(LOSS_KINDS, names.length) };
}

/** Rows for computing with, in the order of the id. */
export interface RowsQuery extends FeatureQuery {
  fields: string[];
  geometry: boolean;
  limit: number;
  /** Returns decimals as text with all their digits, if the store has such. Default: doubles. */
  exact?: boolean;
  /** Adds `ground` to rows whose stored geometries have edges over the ground, which are cut at 180 degrees when they are read. */
  groundMeasures?: boolean;
}

export interface FeatureRow {
  id: string | number | bigint;
  /** GeoPackage blob, WKB or EWKB in the source's CRS. */
  geometry: Uint8Array | null;
  /** In the order of the query's fields. Dates as ISO 8601 text, JSON and arrays as JSON text. */
  values: (string | number | bigint | boolean | ExactNumber | null)[];
  /** Area in square metres, and length of lines and rings in metres, of the stored geometry. */
  ground?: { readonly area: number; readonly length: number };
}

/** The field of a source by name. */
export function findField(source: VectorSource, name: string): Field | undefined {
  return source.fields.find((field) => field.name === name);
}
