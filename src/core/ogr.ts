/** Tasks that read and write files of any vector format. */

import type { Box } from './box.js';
import type { Field, GeometryType } from './vector-source.js';

/** OGR drivers that write a whole collection into one file. */
export type ExportFormat = 'GPKG' | 'GeoJSON' | 'FlatGeobuf' | 'CSV' | 'KML';

export interface TranslateTask {
  /** Any file that OGR opens. */
  path: string;
  /** Layer to read; absent: the first. */
  layer?: string;
  /** File to create; must not exist. Removed again when the task fails. */
  output: string;
  /** What to write; a staging GeoPackage when absent. */
  format?: ExportFormat;
  table: string;
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
}

/** Unpacks the data set of a ZIP archive, or a file that gzip has compressed. */
export interface UnpackTask {
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
