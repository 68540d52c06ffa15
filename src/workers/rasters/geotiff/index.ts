/** Cloud optimized GeoTIFFs of values in memory, written by ourselves: GDAL's driver takes twice the time. */

import { encodeTiffTiles, releaseBytes, type Samples, type TiffTiles } from '../../../native/index.js';
import type { GdalCrs } from '../../gdal/crs.js';
import { formatVrtNumber } from '../sources/vrt-text.js';
import { getGeoKeys } from './geo-keys.js';
import { type TiffField, tiffHead } from './head.js';
import { type BandTraits, type RasterTraits, writeMetadataItem } from './traits.js';

/** Types that this encoder writes. GDAL writes all other types. */
const SAMPLE_TYPES: Record<string, { bits: number; format: number }> = {
  Byte: { bits: 8, format: 1 },
  UInt16: { bits: 16, format: 1 },
  Int16: { bits: 16, format: 2 },
  UInt32: { bits: 32, format: 1 },
  Int32: { bits: 32, format: 2 },
  Float32: { bits: 32, format: 3 },
  Float64: { bits: 64, format: 3 },
};

/** GDAL's GMF_PER_DATASET without GMF_ALPHA: a separate mask. */
const MASK = 2;

/** Whether these bands can be written: they have one type and one nodata value, and no colour tables. */
export function canWriteBands(bands: readonly BandTraits[]): boolean {
  const { type, nodata } = bands[0]!;
  return bands.every(
    (band) => band.type === type && Object.is(band.nodata, nodata) && !band.isIndex && type! in SAMPLE_TYPES,
  );
}

/** Whether a separate mask marks the valid pixels of these bands. */
export function isMasked(bands: readonly BandTraits[]): boolean {
  return bands.some(({ mask }) => mask === MASK);
}

export interface GeoTiffImage {
  /** One array for each of `bands`. */
  samples: Samples[];
  width: number;
  height: number;
  crs: GdalCrs;
  /** Upper left corner in `crs`. */
  origin: [x: number, y: number];
  /** Width and height of a pixel. */
  pixel: [x: number, y: number];
  bands: readonly BandTraits[];
  /** Traits of the raster that contains the bands. */
  traits: RasterTraits;
  /** Side of a tile. */
  side: number;
  overviews: 'none' | 'nearest' | 'average';
}

/** Returns the bytes of the file. The samples are unusable afterwards. */
export async function writeCogInMemory(image: GeoTiffImage): Promise<Uint8Array> {
  const { samples, width, height, side, overviews, bands, traits } = image;
  const nodata = bands[0]!.nodata ?? undefined;
  const [tiles, geoKeys] = await Promise.all([
    encodeTiffTiles({ bands: samples, width, height, side, overviews, nodata }),
    getGeoKeys(image.crs, traits.isPoint),
  ]);
  const sizes = imageSizes(tiles, image);
  const directories = sizes.map((size, index) => directory(size, bands, side, index > 0));
  directories[0]!.push(...geoKeys, ...placeFields(image), ...traits.fields, metadataField(image, tiles));
  const head = tiffHead(directories, LAYOUT);
  // No Buffer: memory of that kind does not change threads without a copy.
  const file = new Uint8Array(head.length + tiles.data.length);
  file.set(head);
  file.set(tiles.data, head.length);
  releaseBytes(tiles.data);
  for (const { buffer } of samples) releaseBytes(new Uint8Array(buffer));
  return file;
}

/** Notes of GDAL's driver. With them readers do not need to read each directory and tile size separately. */
const LAYOUT_LINES = [
  'LAYOUT=IFDS_BEFORE_DATA',
  'BLOCK_ORDER=ROW_MAJOR',
  'BLOCK_LEADER=SIZE_AS_UINT4',
  'BLOCK_TRAILER=LAST_4_BYTES_REPEATED',
  'KNOWN_INCOMPATIBLE_EDITION=NO',
];
const LAYOUT_TEXT = `${LAYOUT_LINES.join('\n')}\n `;
const LAYOUT = `GDAL_STRUCTURAL_METADATA_SIZE=${String(LAYOUT_TEXT.length).padStart(6, '0')} bytes\n${LAYOUT_TEXT}`;

interface ImageSize {
  width: number;
  height: number;
  offsets: Uint32Array;
  sizes: Uint32Array;
}

/** Sizes of the image and its overviews, largest first. Their tiles are stored in the opposite order. */
function imageSizes({ offsets, sizes }: TiffTiles, { width, height, side }: GeoTiffImage): ImageSize[] {
  const images: ImageSize[] = [];
  let [columns, rows, end] = [width, height, offsets.length];
  while (end > 0) {
    const begin = end - Math.ceil(columns / side) * Math.ceil(rows / side);
    images.push({
      width: columns,
      height: rows,
      offsets: offsets.subarray(begin, end),
      sizes: sizes.subarray(begin, end),
    });
    [columns, rows, end] = [Math.ceil(columns / 2), Math.ceil(rows / 2), begin];
    if (begin < 0) throw new Error('The tiles do not fit the image.');
  }
  return images;
}

const DEFLATE = 8;
const REDUCED_IMAGE = 1;
const [MIN_IS_BLACK, RGB] = [1, 2];

/** Fields of an image: TIFF 6.0, sections 3, 14, 15, 18 and 19; NewSubfileType marks overviews. */
function directory(
  { width, height, offsets, sizes }: ImageSize,
  bands: readonly BandTraits[],
  side: number,
  isOverview: boolean,
): TiffField[] {
  const { bits, format } = SAMPLE_TYPES[bands[0]!.type!]!;
  const [photometric, extra] = buildColors(bands);
  const each = (value: number) => bands.map(() => value);
  const short = (tag: number, ...values: number[]): TiffField => ({ tag, type: 'short', values });
  const long = (tag: number, ...values: number[]): TiffField => ({ tag, type: 'long', values });
  const { nodata } = bands[0]!;
  return [
    ...(isOverview ? [long(254, REDUCED_IMAGE)] : []),
    long(256, width),
    long(257, height),
    short(258, ...each(bits)),
    short(259, DEFLATE),
    short(262, photometric),
    short(277, bands.length),
    short(284, 1),
    short(317, format === 3 ? 3 : 2),
    long(322, side),
    long(323, side),
    { tag: 324, type: 'long', values: offsets, fromEnd: true },
    { tag: 325, type: 'long', values: sizes },
    ...(extra.length > 0 ? [short(338, ...extra)] : []),
    short(339, ...each(format)),
    ...(nodata === null
      ? []
      : [{ tag: GDAL_NODATA, type: 'ascii', values: formatVrtNumber(nodata) } as const]),
  ];
}

const [GDAL_METADATA, GDAL_NODATA] = [42112, 42113];
/** Kinds of extra samples: unspecified, and alpha that is not premultiplied. */
const [UNSPECIFIED, ALPHA] = [0, 2];
const COLORS = ['Red', 'Green', 'Blue'];

/** PhotometricInterpretation and ExtraSamples. */
function buildColors(bands: readonly BandTraits[]): [photometric: number, extra: number[]] {
  const isRgb = COLORS.every((color, index) => bands[index]?.interpretation === color);
  const extra = bands.slice(isRgb ? COLORS.length : 1);
  const kinds = extra.map(({ interpretation }) => (interpretation === 'Alpha' ? ALPHA : UNSPECIFIED));
  return [isRgb ? RGB : MIN_IS_BLACK, kinds];
}

const SAYS_NOTHING = ['Undefined', 'Gray'];

/** Returns the interpretation that readers give to a band, according to `buildColors`. */
function interpretationAt(index: number, photometric: number, extra: readonly number[]): string {
  const colors = photometric === RGB ? COLORS : ['Gray'];
  return colors[index] ?? (extra[index - colors.length] === ALPHA ? 'Alpha' : 'Undefined');
}

/** Georeference fields (GeoTIFF 1.1, 7.4). In a raster of points the tie point is the centre of a pixel. */
function placeFields({ origin: [x, y], pixel: [dx, dy], traits }: GeoTiffImage): TiffField[] {
  const shift = traits.isPoint ? 0.5 : 0;
  return [
    { tag: 33550, type: 'double', values: [dx, dy, 0] },
    { tag: 33922, type: 'double', values: [0, 0, 0, x + shift * dx, y - shift * dy, 0] },
  ];
}

/** GDAL's metadata: the metadata of the raster and its bands, and statistics of the values. */
function metadataField({ traits, bands, width, height }: GeoTiffImage, { statistics }: TiffTiles): TiffField {
  const [photometric, extra] = buildColors(bands);
  const items = bands.map((band, index) => {
    const { interpretation } = band;
    const isTold =
      !SAYS_NOTHING.includes(interpretation) &&
      interpretation !== interpretationAt(index, photometric, extra);
    const color = isTold ? writeMetadataItem('COLORINTERP', interpretation, index, 'colorinterp') : '';
    return statisticsItems(statistics.subarray(5 * index), width * height, index) + band.items(index) + color;
  });
  const values = `<GDALMetadata>\n${traits.items}${items.join('')}</GDALMetadata>\n`;
  return { tag: GDAL_METADATA, type: 'ascii', values };
}

function statisticsItems(numbers: Float64Array, pixels: number, sample: number): string {
  const [count, min, max, mean, deviation] = numbers as unknown as [number, number, number, number, number];
  if (count === 0) return '';
  const named = { MAXIMUM: max, MEAN: mean, MINIMUM: min, STDDEV: deviation };
  const items = Object.entries(named).map(([name, value]) => [name, String(Number(value.toPrecision(14)))]);
  items.push(['VALID_PERCENT', String(Number(((100 * count) / pixels).toPrecision(4)))]);
  return items.map(([name, value]) => writeMetadataItem(`STATISTICS_${name}`, value!, sample)).join('');
}
