import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { ExportFormatData } from '../../../core/catalog/page-data.js';
import { html, type Markup } from '../../../core/values/html.js';
import { listFormatNotes } from '../../../services/exchange/exports/format-notes.js';
import type { ExportName } from '../../../services/exchange/exports/formats.js';
import { anchor } from '../links.js';
import { buildItemsUrl } from '../maps/map-data.js';
import { FORMAT_TITLES } from './export-formats.js';

/** Bytes of a feature in each format, measured in a sample. */
export interface SampleSizes {
  readonly geojson: number;
  readonly csv: number;
  readonly gml: number;
  readonly sample: number;
}

/** Exports that pages offer. */
const OFFERED: readonly { readonly f: ExportName; readonly isJob: boolean }[] = [
  { f: 'geojson', isJob: false },
  { f: 'csv', isJob: false },
  { f: 'gpkg', isJob: true },
  { f: 'flatgeobuf', isJob: true },
  { f: 'geoparquet', isJob: true },
];

/** Typical sizes of formats that are not measured, relative to GeoJSON: of points, and of lines and polygons. */
const SHARES: Partial<Record<ExportName, readonly [points: number, others: number]>> = {
  gpkg: [0.7, 0.6],
  flatgeobuf: [1.03, 0.6],
  geoparquet: [0.2, 0.5],
};

/** Bytes of files without features: the tables of a GeoPackage, and the headers with the CRS of other formats. */
const BASES: Partial<Record<ExportName, number>> = {
  gpkg: 98_304,
  flatgeobuf: 1200,
  geoparquet: 750,
};

/** Features that a format cannot contain. A job warns only if there are any. */
const OMISSIONS: Partial<Record<ExportName, readonly string[]>> = {
  flatgeobuf: ['Features without a geometry are omitted.'],
};

/** Estimates the bytes of an export. Undefined if sizes were not measured. */
export function estimateSize({ bytes, base }: ExportFormatData, features: number): number | undefined {
  return bytes === null ? undefined : base + bytes * features;
}

/** Formats of exports with the bytes of a feature, if sizes were measured. */
export function listExportFormats(
  { source }: VectorCollection,
  sizes: SampleSizes | undefined,
): ExportFormatData[] {
  const column = source.geometryType === 'Point' ? 0 : 1;
  const fields = plainFields(source.fields);
  return OFFERED.map(({ f, isJob }) => {
    const share = SHARES[f]?.[column];
    const measured = f === 'csv' ? sizes?.csv : sizes?.geojson;
    const bytes = measured === undefined ? null : measured * (share ?? 1);
    return {
      f,
      title: FORMAT_TITLES[f],
      isJob,
      bytes,
      base: BASES[f] ?? 0,
      notes: [...(OMISSIONS[f] ?? []), ...listFormatNotes(f, fields)],
    };
  });
}

export function buildExportUrl(collection: VectorCollection, baseUrl: string): string {
  return buildItemsUrl(collection, baseUrl).replace(/\/items$/, '/export');
}

/** A link to a streamed export, or a button that starts an export job. `query`: further parameters. */
export function exportControl(url: string, { f, title, isJob }: ExportFormatData, query = ''): Markup {
  const href = `${url}?f=${f}${query === '' ? '' : `&${query}`}`;
  if (!isJob) return anchor(href, title);
  const { pathname, search } = new URL(href);
  return html`<form class="inline" method="post" action="${`${pathname}${search}`}"><button type="submit">${title}</button></form>`;
}
