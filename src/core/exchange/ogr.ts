/** Tasks that read and write files of any vector format. */

import type { Box } from '../geometry/box.js';
import type { Field, FieldType, GeometryType } from '../sources/vector-source.js';

/** OGR drivers that write a whole collection into one file. */
export type ExportDriver =
  | 'GPKG'
  | 'GeoJSON'
  | 'GeoJSONSeq'
  | 'FlatGeobuf'
  | 'CSV'
  | 'KML'
  | 'ESRI Shapefile';

/** What a GeoJSON file that we wrote ourselves lacks of what is known. */
export interface ExportDraft {
  fields: { name: string; type: FieldType }[];
  geometryType: GeometryType;
  hasZ: boolean;
  /** It has no features. */
  isEmpty: boolean;
  /** Ids of features are whole numbers, which stay with them where the format has such. */
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
  /** What to write; a staging GeoPackage when absent. */
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
  /** CRS to project to; absent: that of the source. */
  targetCrs?: string;
  /** Maximum features to write; all when absent. */
  maxFeatures?: number;
  /** Rows go into a collection: values come as the file has them, wherever OGR would read them as other ones. */
  keepsValues?: boolean;
}

/** A file that somebody sent: reading it can take for ever, such as an endless view of a GeoPackage. */
export interface ForeignFile {
  /** Milliseconds of work after which the process that reads it is killed; any time when absent. */
  limitMs?: number;
}

/** Unpacks the data set of a ZIP archive, or a file that gzip has compressed. */
export interface UnpackTask extends ForeignFile {
  path: string;
  /** All vector data of the archive, in place of one data set: a shapefile or file geodatabase if there is any. */
  every?: boolean;
  /** Folder to create; must not exist. Removed again when the task fails. */
  output: string;
  /** Which data set, when there are several. */
  layer?: string;
}

export interface UnpackResult {
  /** What OGR opens; the first, when there are several. */
  path: string;
  /** All of them. */
  paths: string[];
  /** Entries of the archive that hold other data, of kinds that are not unpacked. */
  left: string[];
}

export interface TranslateResult {
  features: number;
  /** Sentences on what was assumed of the file. */
  notes?: string[];
  /** What became of the ids of the file, where not all are kept. */
  idNote?: string;
  /** Rows have the ids of the features, which are more than their places in the file. */
  keepsIds?: true;
}

/**
 * A layer of a foreign file that becomes a staging GeoPackage. The layer is chosen while the file is open: to open one again
 * takes as long as to read it, for formats whose columns only their rows tell.
 */
export interface StageTask
  extends ForeignFile,
    Pick<TranslateTask, 'path' | 'layer' | 'output' | 'table' | 'sourceCrs' | 'targetCrs' | 'keepsValues'> {
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
  /** As in `TranslateResult`. */
  notes?: string[];
  keepsIds?: true;
}

/** Why no layer was read; nothing was written then. */
export type StageProblem =
  | { problem: 'no-layer'; names: string[] }
  | { problem: 'no-crs' }
  | { problem: 'too-many-features' };

/** What a preview tells of a foreign file. */
export interface OgrPreview {
  layers: OgrLayerInfo[];
  /** The layer that an import reads; absent when the file has none. */
  layer?: OgrLayerInfo;
  /** Attributes of its first feature, as JSON. */
  sample: string;
  /** Name of the OGR driver that reads the file. */
  driver?: string;
}

/** What OGR found in a vector file that is not a GeoPackage. */
export interface OgrLayerInfo {
  name: string;
  geometryType: GeometryType;
  /** False for a table of attributes alone. */
  hasGeometry?: boolean;
  /** The name is one of the format, such as `entities`, and says nothing. */
  isUnnamed?: boolean;
  hasZ: boolean;
  featureCount: number;
  crs: string | null;
  extent?: Box;
  fields: Field[];
}
