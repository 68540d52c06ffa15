import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { ExportFormatData } from '../../../core/catalog/page-data.js';
import { html, type Markup } from '../../../core/values/html.js';
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
  gpkg: [0.7, 0.7],
  flatgeobuf: [0.95, 0.6],
  geoparquet: [0.2, 0.5],
};

/** Formats of exports with the bytes of a feature, if sizes were measured. */
export function listExportFormats(
  { source }: VectorCollection,
  sizes: SampleSizes | undefined,
): ExportFormatData[] {
  const column = source.geometryType === 'Point' ? 0 : 1;
  return OFFERED.map(({ f, isJob }) => {
    const share = SHARES[f]?.[column];
    const measured = f === 'csv' ? sizes?.csv : sizes?.geojson;
    const bytes = measured === undefined ? null : measured * (share ?? 1);
    return { f, title: FORMAT_TITLES[f], isJob, bytes };
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
