import type { ExportDriver as Driver } from '../../../core/exchange/ogr.js';

/** File format of an export. */
export interface ExportFormat {
  readonly mediaType: string;
  readonly ending: string;
  /** Driver that writes the file. Undefined if the store writes it. */
  readonly driver?: Driver;
  /** Whether its coordinates are longitudes and latitudes. */
  readonly inDegrees?: true;
  /** Ids of features would be lost: they become a field. */
  readonly idAsField?: true;
}

export const EXPORT_FORMATS = {
  csv: { mediaType: 'text/csv', ending: 'csv' },
  shapefile: {
    mediaType: 'application/zip',
    ending: 'zip',
    driver: 'ESRI Shapefile',
    idAsField: true,
  },
  gpkg: { mediaType: 'application/geopackage+sqlite3', ending: 'gpkg', driver: 'GPKG' },
  geojson: { mediaType: 'application/geo+json', ending: 'geojson' },
  flatgeobuf: {
    mediaType: 'application/vnd.flatgeobuf',
    ending: 'fgb',
    driver: 'FlatGeobuf',
    idAsField: true,
  },
  geoparquet: {
    mediaType: 'application/vnd.apache.parquet',
    ending: 'parquet',
    driver: 'Parquet',
    idAsField: true,
  },
  kml: {
    mediaType: 'application/vnd.google-earth.kml+xml',
    ending: 'kml',
    driver: 'KML',
    inDegrees: true,
    idAsField: true,
  },
} as const satisfies Record<string, ExportFormat>;

export type ExportName = keyof typeof EXPORT_FORMATS;
export const EXPORT_NAMES = Object.keys(EXPORT_FORMATS) as ExportName[];

export function getExportFormat(name: ExportName): ExportFormat {
  return EXPORT_FORMATS[name];
}
