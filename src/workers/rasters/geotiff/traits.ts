/** Metadata of a raster and its bands in a GeoTIFF, in addition to the values. */

import type { Dataset } from '../../gdal/gdal.js';
import type { BandText } from '../cog/cog.js';
import { elementText, escapeVrtText } from '../sources/vrt-text.js';
import type { TiffField } from './head.js';

export interface BandTraits extends BandText {
  type: string | null;
  nodata: number | null;
  interpretation: string;
  /** GDAL's GMF_ flags. */
  mask: number;
  /** It has colours or names for its values. */
  isIndex: boolean;
  /** Elements of GDAL's metadata. `sample` is the index of the band in the response, from 0. */
  items(sample: number): string;
}

export interface RasterTraits {
  bands: BandTraits[];
  /** Values belong to the centres of pixels. */
  isPoint: boolean;
  /** Elements of GDAL's metadata. */
  items: string;
  /** Metadata for which TIFF has separate fields. */
  fields: TiffField[];
}

const byDataset = new WeakMap<Dataset, RasterTraits>();

/** Returns the traits. They are cached, because each access to a dataset acquires GDAL's lock. */
export function getRasterTraits(dataset: Dataset): RasterTraits {
  let traits = byDataset.get(dataset);
  if (!traits) byDataset.set(dataset, (traits = readTraits(dataset)));
  return traits;
}

/** GDAL's names of fields that TIFF has for text (TIFF 6.0, sections 8 and 12). */
const TEXT_FIELDS: Record<string, number> = {
  TIFFTAG_DOCUMENTNAME: 269,
  TIFFTAG_IMAGEDESCRIPTION: 270,
  TIFFTAG_SOFTWARE: 305,
  TIFFTAG_DATETIME: 306,
  TIFFTAG_ARTIST: 315,
  TIFFTAG_HOSTCOMPUTER: 316,
  TIFFTAG_COPYRIGHT: 33432,
};

type Metadata = Record<string, string>;

function readTraits(dataset: Dataset): RasterTraits {
  const metadata = (dataset.getMetadata() ?? {}) as Metadata;
  const entries = Object.entries(metadata);
  return {
    bands: Array.from({ length: dataset.bands.count() }, (_, index) => readBand(dataset, index + 1)),
    isPoint: metadata.AREA_OR_POINT === 'Point',
    items: entries
      .filter(([name]) => name !== 'AREA_OR_POINT' && !name.startsWith('TIFFTAG_'))
      .map(([name, value]) => writeMetadataItem(name, value))
      .join(''),
    fields: entries.flatMap(([name, value]) => {
      const tag = TEXT_FIELDS[name];
      return tag === undefined ? [] : { tag, type: 'ascii', values: value.replaceAll('\0', '') };
    }),
  };
}

function readBand(dataset: Dataset, number: number): BandTraits {
  const band = dataset.bands.get(number);
  const { scale, offset } = band;
  const [description, unit] = [band.description ?? '', band.unitType ?? ''];
  const categories = [...((band.categoryNames as string[] | null) ?? [])];
  const metadata = Object.entries((band.getMetadata() ?? {}) as Metadata).filter(
    ([name]) => !name.startsWith('STATISTICS_'),
  );
  const roles: [name: string, text: string][] = [
    ['description', description],
    ['unittype', unit],
    ['offset', offset ? String(offset) : ''],
    ['scale', scale !== null && scale !== 1 ? String(scale) : ''],
  ];
  return {
    description,
    unit,
    categories,
    type: band.dataType,
    nodata: band.noDataValue,
    interpretation: band.colorInterpretation ?? 'Undefined',
    mask: band.getMaskFlags(),
    isIndex: Boolean(band.colorTable) || categories.length > 0,
    items: (sample) =>
      metadata.map(([name, value]) => writeMetadataItem(name, value, sample)).join('') +
      roles
        .map(([role, text]) => (text ? writeMetadataItem(role.toUpperCase(), text, sample, role) : ''))
        .join(''),
  };
}

/** An element of GDAL's metadata field. GDAL escapes values before it writes XML, and after it has read some. */
export function writeMetadataItem(name: string, value: string, sample?: number, role?: string): string {
  const of = sample === undefined ? '' : ` sample="${sample}"`;
  const as = role === undefined ? '' : ` role="${role}"`;
  return `  <Item name="${elementText(name)}"${of}${as}>${elementText(escapeVrtText(value))}</Item>\n`;
}
