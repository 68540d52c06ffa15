import { hasCoverage, hasFeatures, isDrawable } from '../../../core/catalog/abilities.js';
import type { Collection, RasterCollection, VectorCollection } from '../../../core/catalog/collection.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { html, type Markup } from '../../../core/values/html.js';
import { renderSection } from '../layout.js';
import { anchor } from '../links.js';
import { type PageColors, withColors } from '../maps/color-form.js';
import {
  buildSnippetItemsUrl,
  coverageUrl,
  type SnippetSubject,
  wholeCoverage,
} from '../snippets/snippet.js';
import { table } from '../table.js';
import { formatBytes, formatCount } from '../values.js';

/** Bytes of a feature in each format, measured in a sample. */
export interface SampleSizes {
  readonly geojson: number;
  readonly csv: number;
  readonly gml: number;
  readonly sample: number;
}

interface Download {
  readonly format: string;
  readonly about: string;
  readonly href: string;
  readonly size: string | undefined;
  /** URL without the colours of the page, of a map of a raster. */
  readonly colored?: string;
}

/** Every file that a collection can be downloaded as, with estimates of their sizes. */
export function downloadSection(
  subject: SnippetSubject,
  sizes?: SampleSizes,
  colors?: PageColors,
): Markup | undefined {
  const { collection } = subject;
  const downloads = [...listDownloads(subject, sizes), ...listPictures(subject, colors)];
  if (downloads.length === 0) return undefined;
  const rows = downloads.map(
    ({ format, about, href, size, colored }) =>
      html`<tr><th scope="row">${colored ? html`<a href="${href}" data-colored="${colored}">${format}</a>` : anchor(href, format)}</th><td>${about}</td><td>${size ?? html`<span class="none">not estimated</span>`}</td></tr>`,
  );
  return renderSection(
    'Downloads',
    html`${table('Downloads', ['Format', 'Contents', 'Size'], rows)}${note(collection, sizes)}`,
  );
}

function note(collection: Collection, sizes: SampleSizes | undefined): Markup | undefined {
  if (hasCoverage(collection))
    return html`<p class="muted">Sizes are before compression; downloads are smaller.</p>`;
  if (!sizes || !hasFeatures(collection)) return undefined;
  const all = html`<p class="muted">Sizes are estimates from ${formatCount(sizes.sample)} features, before compression.</p>`;
  const { featureCount = 0 } = collection;
  if (featureCount <= LIMITS.itemsMax) return all;
  return html`${all}<p class="muted">A response has at most ${formatCount(LIMITS.itemsMax)} features and links to the next ones. The GDAL command below copies all ${formatCount(featureCount)} into one file.</p>`;
}

function listDownloads(subject: SnippetSubject, sizes: SampleSizes | undefined): Download[] {
  const { collection } = subject;
  if (hasFeatures(collection)) return listFeatures(subject, collection, sizes);
  return hasCoverage(collection) ? listValues(subject, collection) : [];
}

function listFeatures(
  subject: SnippetSubject,
  { featureCount }: VectorCollection,
  sizes: SampleSizes | undefined,
): Download[] {
  const number = featureCount === undefined ? undefined : Math.min(featureCount, LIMITS.itemsMax);
  const about =
    featureCount === undefined || number === undefined
      ? `${formatCount(LIMITS.itemsMax)} features at most`
      : number < featureCount
        ? `the first ${formatCount(number)} of ${formatCount(featureCount)} features`
        : 'all features';
  const one = (format: string, f: string, bytes: number | undefined): Download => ({
    format,
    about,
    href: `${buildSnippetItemsUrl(subject)}?f=${f}&limit=${LIMITS.itemsMax}`,
    size: bytes === undefined || number === undefined ? undefined : `about ${formatBytes(bytes * number)}`,
  });
  return [
    one('GeoJSON', 'json', sizes?.geojson),
    one('CSV', 'csv', sizes?.csv),
    one('GML', 'gml', sizes?.gml),
  ];
}

/** Bytes of a value of each GDAL type. */
const TYPE_BYTES: Readonly<Record<string, number>> = {
  Byte: 1,
  Int8: 1,
  Int16: 2,
  UInt16: 2,
  Int32: 4,
  UInt32: 4,
  Float32: 4,
  Float64: 8,
  Int64: 8,
  UInt64: 8,
};

function listValues(subject: SnippetSubject, { raster }: RasterCollection): Download[] {
  const scale = Math.min(1, LIMITS.coverageSide / Math.max(raster.width, raster.height));
  const bytes = raster.bands.reduce((sum, { type }) => sum + (TYPE_BYTES[type] ?? 8), 0);
  const size = raster.width * raster.height * scale * scale * bytes;
  const how =
    scale < 1 ? `the values at ${Math.floor(scale * 100)} % of their resolution` : 'all values of all bands';
  return [
    { format: 'GeoTIFF', about: how, href: wholeCoverage(subject), size: `at most ${formatBytes(size)}` },
    {
      format: 'PNG image of the values',
      about: 'an image of the bands',
      href: `${coverageUrl(subject)}?f=png`,
      size: undefined,
    },
  ];
}

const PICTURES = [
  ['PNG map', 'png', 'the map as drawn, 1,024 pixels wide'],
  ['JPEG map', 'jpeg', 'the same without transparency'],
  ['WebP map', 'webp', 'the same, smaller'],
  ['GeoTIFF map', 'tiff', 'the same, georeferenced'],
] as const;

function listPictures({ baseUrl, collection }: SnippetSubject, colors: PageColors | undefined): Download[] {
  if (!isDrawable(collection)) return [];
  const map = `${baseUrl}/ogc/maps/collections/${collection.layerId}/map?width=1024`;
  return PICTURES.map(([format, f, about]) => ({
    format,
    about,
    href: withColors(`${map}&f=${f}`, colors),
    size: undefined,
    ...(hasCoverage(collection) && { colored: `${map}&f=${f}` }),
  }));
}
