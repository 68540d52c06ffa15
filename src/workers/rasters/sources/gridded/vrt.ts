/** Text of the virtual raster that puts the variables of a grid together. */

import { FLOAT_NODATA } from '../../pixels/nodata.js';
import { escapeVrtText, formatVrtNumber } from '../vrt-text.js';
import type { Geolocation } from './bent-grid.js';
import type { Variable } from './layout.js';
import type { GridGeoreference, Strip } from './place.js';

export interface SlicedVariable {
  variable: Variable;
  /** GDAL's name of the slice, and the band in it. */
  file: string;
  band: number;
}

/** Returns a VRT with one band for each sliced variable. With geolocation arrays, only they georeference the raster. */
export function sliceVrt(
  place: GridGeoreference,
  slices: readonly SlicedVariable[],
  geolocation?: Geolocation,
): string {
  const bands = slices.map((slice, index) => formatBand(place, slice, index + 1)).join('');
  const located = geolocation
    ? geolocationDomain(geolocation)
    : `<SRS>${escapeVrtText(place.srs)}</SRS><GeoTransform>${place.geoTransform.join(',')}</GeoTransform>`;
  return `<VRTDataset rasterXSize="${place.width}" rasterYSize="${place.height}">${located}${bands}</VRTDataset>`;
}

/** GDAL RFC 4. */
function geolocationDomain({ longitude, latitude }: Geolocation): string {
  const items = {
    SRS: 'EPSG:4326',
    X_DATASET: longitude,
    X_BAND: '1',
    Y_DATASET: latitude,
    Y_BAND: '1',
    PIXEL_OFFSET: '0',
    PIXEL_STEP: '1',
    LINE_OFFSET: '0',
    LINE_STEP: '1',
    GEOREFERENCING_CONVENTION: 'PIXEL_CENTER',
  };
  const text = Object.entries(items).map(([key, value]) => `<MDI key="${key}">${escapeVrtText(value)}</MDI>`);
  return `<Metadata domain="GEOLOCATION">${text.join('')}</Metadata>`;
}

function formatBand(place: GridGeoreference, slice: SlicedVariable, number: number): string {
  const { name, unit, noData } = slice.variable;
  const changed = isChanged(place, slice.variable);
  const filler = changed ? FLOAT_NODATA : noData;
  return (
    `<VRTRasterBand dataType="${chooseType(slice.variable, changed)}" band="${number}">` +
    `<Description>${escapeVrtText(name)}</Description><UnitType>${escapeVrtText(unit)}</UnitType>` +
    (filler === null ? '' : `<NoDataValue>${formatVrtNumber(filler)}</NoDataValue>`) +
    place.strips.map((strip) => stripSource(place, slice, strip)).join('') +
    '</VRTRasterBand>'
  );
}

function stripSource(
  place: GridGeoreference,
  { variable, file, band }: SlicedVariable,
  strip: Strip,
): string {
  const { stored, blockSize } = place;
  const changed = isChanged(place, variable);
  const kind = changed ? 'ComplexSource' : 'SimpleSource';
  const rows = `yOff="0" ySize="${stored.height}"`;
  return (
    `<${kind}><SourceFilename relativeToVRT="0" shared="0">${escapeVrtText(file)}</SourceFilename>` +
    `<SourceBand>${band}</SourceBand>` +
    `<SourceProperties RasterXSize="${stored.width}" RasterYSize="${stored.height}" DataType="${variable.type}" ` +
    `BlockXSize="${blockSize.x}" BlockYSize="${blockSize.y}"/>` +
    `<SrcRect xOff="${strip.from}" xSize="${strip.columns}" ${rows}/>` +
    `<DstRect xOff="${strip.to}" xSize="${strip.columns}" ${rows}/>` +
    (changed && variable.noData !== null ? `<NODATA>${formatVrtNumber(variable.noData)}</NODATA>` : '') +
    (changed
      ? `<ScaleOffset>${variable.offset}</ScaleOffset><ScaleRatio>${variable.scale}</ScaleRatio>`
      : '') +
    `</${kind}>`
  );
}

/** Whether values are unpacked, or need a number for no data that the variable does not have. */
function isChanged(place: GridGeoreference, { scale, offset, noData }: Variable): boolean {
  const covered = place.strips.reduce((sum, { columns }) => sum + columns, 0);
  const hasGaps = place.hasGaps || covered < place.width;
  return scale !== 1 || offset !== 0 || (noData === null && hasGaps);
}

function chooseType({ type }: Variable, changed: boolean): string {
  if (changed) return type === 'Float64' ? 'Float64' : 'Float32';
  return type === 'Int64' || type === 'UInt64' ? 'Float64' : type;
}
