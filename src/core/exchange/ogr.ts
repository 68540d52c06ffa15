/** Tasks that read and write files of any vector format. */

import type { Box } from '../geometry/box.js';
import type { Field, FieldType, GeometryType } from '../sources/vector-source.js';

/** OGR drivers that write a whole collection into one file, and the writer of Parquet files. */
export type ExportDriver =
  | 'GPKG'
  | 'GeoJSON'
  | 'GeoJSONSeq'
  | 'FlatGeobuf'
  | 'CSV'
  | 'KML'
  | 'ESRI Shapefile'
  | 'Parquet';

/** Schema of an exported GeoJSON file, which the file itself lacks. */
export interface ExportDraft {
  fields: { name: string; type: FieldType }[];
  geometryType: GeometryType;
  hasZ: boolean;
  /** It has no features. */
  isEmpty: boolean;
  /** Writes the ids of features, which are integers, if the format supports ids. */
  keepsIds?: boolean;
  /** Field that the ids become. */
  idField?: string;
}

export interface TranslateTask {
  /** Any file that OGR opens. */
  path: string;
  /** Layer to read; absent: the first. */
  layer?: string;
  /** File to create; must not exist. Removed again when the task fails. */
  output: string;
  /** Format to write. Default: a staging GeoPackage. */
  format?: ExportDriver;
  table: string;
  /** The file is such a draft, of which `format` is written. */
  draft?: ExportDraft;
  /** Column with the ids, where OGR takes another for them: rows are written in its order, and without it. */
  idColumn?: string;
  /** CRS to assume when the file names none. */
  assumeCrs?: string;
  /** A file that names no CRS becomes a table of an undefined one. */
  mayLackCrs?: boolean;
  /** CRS of the coordinates, whatever the file says. */
  sourceCrs?: string;
  /** CRS of the output. Default: the CRS of the source. */
  targetCrs?: string;
  /** Maximum features to write. Default: all. */
  maxFeatures?: number;
  /** Rows go into a collection: values come as the file has them, wherever OGR would read them as other ones. */
  keepsValues?: boolean;
}

/**
 * Time limit for reading an untrusted file, which can take arbitrarily long, for example an endless view of a
 * GeoPackage.
 */
export interface ForeignFile {
  /** Milliseconds of work after which the reading process is killed. Default: no limit. */
  limitMs?: number;
}

/** Unpacks the data set of a ZIP archive, or a file that gzip has compressed. */
export interface UnpackTask extends ForeignFile {
  path: string;
  /** All vector data of the archive, in place of one data set: a shapefile or file geodatabase if there is any. */
  every?: boolean;
  /** Folder to create; must not exist. Removed again when the task fails. */
  output: string;
  /** Name of the data set, if there are several. */
  layer?: string;
}

export interface UnpackResult {
  /** Path that OGR opens, the first of several. */
  path: string;
  /** All of them. */
  paths: string[];
  /** Skipped entries of the archive, with other kinds of data. */
  left: string[];
}

export interface TranslateResult {
  features: number;
  /** Messages about assumptions. */
  notes?: string[];
  /** Message about ids of the file that were not kept. */
  idNote?: string;
  /** Rows have the ids of the features, which are more than their places in the file. */
  keepsIds?: true;
}

/**
 * Copies a layer of an untrusted file to a staging GeoPackage. The layer is selected while the file is open, because
 * opening some formats requires reading all rows.
 */
export interface StageTask
  extends ForeignFile,
    Pick<
      TranslateTask,
      | 'path'
      | 'layer'
      | 'output'
      | 'table'
      | 'sourceCrs'
      | 'targetCrs'
      | 'keepsValues'
      | 'mayLackCrs'
      | 'maxFeatures'
    > {
  /** The file comes from an archive, whose layers the name may not be of: then the first one is meant. */
  isUnpacked: boolean;
}

export interface StagedLayer {
  layer: string;
  features: number;
  /** Layers of the file that have geometries. */
  spatialLayers: number;
  /** Name of the OGR driver that reads the file; absent for Parquet. */
  driver?: string;
  /** Same as in `TranslateResult`. */
  notes?: string[];
  keepsIds?: true;
}

/** Reason why no layer was read and written. */
export type StageProblem =
  | { problem: 'no-layer'; names: string[] }
  | { problem: 'no-crs'; namesDegrees: boolean }
  | { problem: 'too-many-features' };

/** Preview of an untrusted file. */
export interface OgrPreview {
  layers: OgrLayerInfo[];
  /** Layer that an import would read; absent if the file has no layers. */
  layer?: OgrLayerInfo;
  /** Attributes of its first feature, as JSON. */
  sample: string;
  /** Name of the OGR driver that reads the file. */
  driver?: string;
}

/** Layer of a vector file that is not a GeoPackage. */
export interface OgrLayerInfo {
  name: string;
  geometryType: GeometryType;
  /** False for a table without geometry. */
  hasGeometry?: boolean;
  /** The name is one of the format, such as `entities`, and says nothing. */
  isUnnamed?: boolean;
  hasZ: boolean;
  featureCount: number;
  /** The names of its columns of coordinates say that they contain degrees, such as `longitude`. */
  namesDegrees?: boolean;
  crs: string | null;
  extent?: Box;
  fields: Field[];
}
