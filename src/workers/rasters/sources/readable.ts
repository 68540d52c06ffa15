/** Views of rasters whose values or georeferences the server's readers do not support directly. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { BY_MASK, type Dataset, gdal, scratchPath } from '../../gdal/gdal.js';
import type { DatasetView } from '../pixels/continuous.js';
import { elementText, escapeVrtText, formatVrtNumber } from './vrt-text.js';

/** A view that only its dataset has to be closed of. */
export const createDatasetView = (dataset: Dataset): DatasetView => ({
  dataset,
  close: () => dataset.close(),
});

/** Parts of complex numbers as separate bands, by the names of GDAL's pixel functions. */
const PARTS = { real: 'real part', imag: 'imaginary part' } as const;

const PART_TYPES: Readonly<Record<string, string>> = {
  CInt16: 'Int16',
  CInt32: 'Int32',
  CFloat32: 'Float32',
  CFloat64: 'Float64',
};

/**
 * Lookup table for signed bytes, which GDAL before 3.7 reads as unsigned and marks in the metadata. Values between
 * integers do not occur.
 */
const SIGNED_TABLE = '0:0,127:127,128:-128,255:-1';

const isSignedByte = (band: RasterBand): boolean =>
  band.dataType === 'Int8' || band.getMetadata('IMAGE_STRUCTURE').PIXELTYPE === 'SIGNEDBYTE';

const isComplex = ({ dataType }: RasterBand): boolean => dataType !== null && dataType in PART_TYPES;

function listBands(dataset: Dataset): RasterBand[] {
  const { bands } = dataset;
  return Array.from({ length: bands.count() }, (_, index) => bands.get(index + 1));
}

/**
 * The raster with numbers that all readers know: signed bytes as Int16, and complex numbers as two bands, the real and the
 * imaginary part. Undefined where there are neither. `name` is GDAL's name of the raster.
 */
export async function openPlainNumbers(dataset: Dataset, name: string): Promise<DatasetView | undefined> {
  const bands = listBands(dataset);
  if (!bands.some((band) => isSignedByte(band) || isComplex(band))) return undefined;
  const { rasterSize, srs, geoTransform } = dataset;
  const texts = bands.flatMap((band) => listViews(band, name, rasterSize));
  const place =
    geoTransform && srs
      ? `<SRS>${escapeVrtText(srs.toWKT())}</SRS><GeoTransform>${geoTransform.join()}</GeoTransform>`
      : geoTransform
        ? `<GeoTransform>${geoTransform.join()}</GeoTransform>`
        : controlPoints(dataset);
  const body = texts.map((text, index) => text(index + 1)).join('');
  const text = `<VRTDataset rasterXSize="${rasterSize.x}" rasterYSize="${rasterSize.y}">${place}${body}</VRTDataset>`;
  return createDatasetView(await gdal.openAsync(text, 'r', 'VRT'));
}

function controlPoints(dataset: Dataset): string {
  const points = dataset.getGCPs();
  if (points.length === 0) return '';
  const texts = points.map(
    ({ dfGCPPixel, dfGCPLine, dfGCPX, dfGCPY, dfGCPZ }, index) =>
      `<GCP Id="${index + 1}" Pixel="${dfGCPPixel}" Line="${dfGCPLine}" X="${dfGCPX}" Y="${dfGCPY}" Z="${dfGCPZ ?? 0}"/>`,
  );
  const projection = escapeVrtText(dataset.getGCPProjection() ?? '');
  return `<GCPList Projection="${projection}">${texts.join('')}</GCPList>`;
}

type BandView = (number: number) => string;

function listViews(band: RasterBand, name: string, size: { x: number; y: number }): BandView[] {
  const { blockSize, dataType } = band;
  const properties =
    `<SourceProperties RasterXSize="${size.x}" RasterYSize="${size.y}" DataType="${dataType}" ` +
    `BlockXSize="${blockSize.x}" BlockYSize="${blockSize.y}"/>`;
  const source = (kind: string, from: string, inner = '') =>
    `<${kind}><SourceFilename relativeToVRT="0" shared="0">${escapeVrtText(name)}</SourceFilename>` +
    `<SourceBand>${from}</SourceBand>${properties}${inner}</${kind}>`;
  const mask =
    band.getMaskFlags() === BY_MASK
      ? `<MaskBand><VRTRasterBand dataType="Byte">${source('SimpleSource', `mask,${band.id}`)}</VRTRasterBand></MaskBand>`
      : '';
  const open = (type: string, number: number, more = '') =>
    `<VRTRasterBand dataType="${type}" band="${number}"${more}>`;
  const from = String(band.id);
  if (isComplex(band))
    return Object.entries(PARTS).map(
      ([part, words]) =>
        (number) =>
          `${open(PART_TYPES[dataType!]!, number, ' subClass="VRTDerivedRasterBand"')}${about(band, words)}` +
          `<PixelFunctionType>${part}</PixelFunctionType><SourceTransferType>${dataType}</SourceTransferType>` +
          `${source('SimpleSource', from)}${mask}</VRTRasterBand>`,
    );
  if (!isSignedByte(band))
    return [
      (number) =>
        `${open(dataType!, number)}${about(band)}${source('SimpleSource', from)}${mask}</VRTRasterBand>`,
    ];
  const signed =
    dataType === 'Int8'
      ? source('SimpleSource', from)
      : source('ComplexSource', from, `<LUT>${SIGNED_TABLE}</LUT>`);
  return [(number) => `${open('Int16', number)}${about(band)}${signed}${mask}</VRTRasterBand>`];
}

/** Metadata of a band about its values. */
function about(band: RasterBand, part?: string): string {
  const { noDataValue, description, unitType, scale, offset, colorInterpretation } = band;
  const words = [description, part].filter(Boolean).join(', ');
  const element = (tag: string, text: string | null | undefined) =>
    text ? `<${tag}>${elementText(text)}</${tag}>` : '';
  const noData =
    noDataValue !== null && isSignedByte(band) && noDataValue > 127 ? noDataValue - 256 : noDataValue;
  return (
    element('Description', words) +
    element('UnitType', unitType) +
    (noData === null ? '' : `<NoDataValue>${formatVrtNumber(noData)}</NoDataValue>`) +
    element('ColorInterp', part === undefined ? colorInterpretation : undefined) +
    (offset === null || offset === 0 ? '' : `<Offset>${offset}</Offset>`) +
    (scale === null || scale === 1 ? '' : `<Scale>${scale}</Scale>`)
  );
}

/**
 * Returns a raster that has only ground control points, warped like in GDAL: by a polynomial whose order depends on
 * the number of points. Undefined without such points. `crs` is the CRS of the points. Default: the CRS in the file.
 */
export async function warpByControlPoints(
  dataset: Dataset,
  crs: string | undefined,
): Promise<DatasetView | undefined> {
  if (dataset.geoTransform || dataset.getGCPs().length === 0) return undefined;
  const system = crs ?? dataset.getGCPProjection();
  if (!system)
    throw new TaskFailure(
      'source-unreadable',
      'The ground control points of the raster have no coordinate reference system. Assign one with --crs or data.crs.',
    );
  const bands = listBands(dataset);
  const tellsWhatIsMissing = bands.some(
    ({ noDataValue, colorInterpretation }) => noDataValue !== null || colorInterpretation === 'Alpha',
  );
  // GDAL wants a name, and writes the text of the view there when it closes.
  const name = scratchPath('.vrt');
  const warped = await gdal.warpAsync(
    name,
    null,
    [dataset],
    [
      ...['-of', 'VRT', '-s_srs', system, '-t_srs', system, '-r', 'near'],
      ...(tellsWhatIsMissing ? [] : ['-dstalpha']),
    ],
  );
  return {
    dataset: warped,
    close() {
      warped.close();
      gdal.vsimem.release(name);
    },
  };
}
