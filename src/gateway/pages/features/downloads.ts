import { hasCoverage, hasFeatures, isDrawable } from '../../../core/catalog/abilities.js';
import type { RasterCollection, VectorCollection } from '../../../core/catalog/collection.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { html, type Markup } from '../../../core/values/html.js';
import { READER_EXPORTS_PATH } from '../../../services/exchange/exports/reader-exports.js';
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
import { formatBytes, formatCount, formatFeatures, formatInstant } from '../values.js';
import {
  buildExportUrl,
  estimateSize,
  exportControl,
  listExportFormats,
  type SampleSizes,
} from './export-links.js';

interface Download {
  /** Link or button. */
  readonly control: Markup;
  readonly about: string;
  readonly size: string | undefined;
}

/** Every file that a collection can be downloaded as, with estimates of their sizes. */
export function downloadSection(
  subject: SnippetSubject,
  sizes?: SampleSizes,
  colors?: PageColors,
): Markup | undefined {
  const downloads = [...listDownloads(subject, sizes), ...listPictures(subject, colors)];
  if (downloads.length === 0) return undefined;
  const rows = downloads.map(
    ({ control, about, size }) =>
      html`<tr><th scope="row">${control}</th><td>${about}</td><td>${size ?? html`<span class="none">not estimated</span>`}</td></tr>`,
  );
  return renderSection(
    'Downloads',
    html`${table('Downloads', ['Format', 'Contents', 'Size'], rows)}${note(subject, sizes)}`,
  );
}

function note({ baseUrl, collection }: SnippetSubject, sizes: SampleSizes | undefined): Markup | undefined {
  if (hasCoverage(collection))
    return html`<p class="muted">Sizes are before compression; downloads are smaller.</p>`;
  if (!sizes || !hasFeatures(collection)) return undefined;
  return html`<p class="muted">Sizes are estimates from ${formatCount(sizes.sample)} features, before compression. Downloads contain the features and attributes that you can read. A job writes GeoPackage, FlatGeobuf and GeoParquet; its page shows the progress and then the file. <a href="${`${baseUrl}${READER_EXPORTS_PATH}?f=html`}">Your exports</a></p>`;
}

function listDownloads(subject: SnippetSubject, sizes: SampleSizes | undefined): Download[] {
  const { collection } = subject;
  if (hasFeatures(collection)) return listFeatures(subject, collection, sizes);
  return hasCoverage(collection) ? listValues(subject, collection) : [];
}

function listFeatures(
  subject: SnippetSubject,
  collection: VectorCollection,
  sizes: SampleSizes | undefined,
): Download[] {
  const { featureCount } = collection;
  const all = featureCount === undefined ? 'all features' : `all ${formatFeatures(featureCount)}`;
  const url = buildExportUrl(collection, subject.baseUrl);
  const exports = listExportFormats(collection, sizes).map((format) => {
    const bytes = featureCount === undefined ? undefined : estimateSize(format, featureCount);
    const contents = format.isJob ? `${all}, written by a job` : all;
    return {
      control: exportControl(url, format),
      about: format.notes.length === 0 ? contents : [`${contents}.`, ...format.notes].join(' '),
      size: bytes === undefined ? undefined : `about ${formatBytes(bytes)}`,
    };
  });
  return [...exports, listGml(subject, collection, sizes)];
}

/** GML comes in pages. */
function listGml(
  subject: SnippetSubject,
  { featureCount }: VectorCollection,
  sizes: SampleSizes | undefined,
): Download {
  const number = featureCount === undefined ? undefined : Math.min(featureCount, LIMITS.itemsMax);
  const about =
    featureCount === undefined || number === undefined
      ? `${formatCount(LIMITS.itemsMax)} features at most`
      : number < featureCount
        ? `the first ${formatCount(number)} of ${formatCount(featureCount)} features`
        : `all ${formatFeatures(number)}`;
  return {
    control: anchor(`${buildSnippetItemsUrl(subject)}?f=gml&limit=${LIMITS.itemsMax}`, 'GML'),
    about,
    size: sizes && number !== undefined ? `about ${formatBytes(sizes.gml * number)}` : undefined,
  };
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
  const { times = [] } = raster;
  const what =
    times.length > 1
      ? `all bands of ${formatInstant(times.at(-1)!)}, the newest of ${times.length} times`
      : 'all bands';
  const how =
    scale < 1
      ? `the values of ${what} at ${Math.floor(scale * 100)} % of their resolution`
      : `all values of ${what}`;
  return [
    { control: anchor(wholeCoverage(subject), 'GeoTIFF'), about: how, size: `at most ${formatBytes(size)}` },
    {
      control: anchor(`${coverageUrl(subject)}?f=png`, 'PNG image of the values'),
      about: 'an image of the bands',
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
  return PICTURES.map(([format, f, about]) => {
    const href = withColors(`${map}&f=${f}`, colors);
    // Scripts add the colours of the form to the URL without colours.
    const control = hasCoverage(collection)
      ? html`<a href="${href}" data-colored="${`${map}&f=${f}`}">${format}</a>`
      : anchor(href, format);
    return { control, about, size: undefined };
  });
}
