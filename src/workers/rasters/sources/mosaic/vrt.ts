/** Text of the virtual raster that lays the members of a mosaic over each other. */

import type { Merge, RasterGrid } from '../../../../core/rasters/rasters.js';
import { getCrs } from '../../../gdal/crs.js';
import { BYTE_VALUES } from '../../pixels/byte-values.js';
import { elementText, escapeVrtText, formatVrtNumber } from '../vrt-text.js';
import type { MemberBand, MemberFacts } from './facts.js';
import { isDerivedStatistic, mergedBand, mergeElements } from './merge.js';
import { movesInto } from './turn.js';

/** Side of the smallest overview. */
const MIN_SIDE = 256;

export function mosaicVrt(grid: RasterGrid, members: readonly MemberFacts[], merge?: Merge): string {
  const bands = members[0]!.bands
    .map((band, index) => formatBand(grid, members, band, index, merge))
    .join('');
  return rasterVrt(grid, bands);
}

function rasterVrt(grid: RasterGrid, bands: string): string {
  return (
    `<VRTDataset rasterXSize="${grid.width}" rasterYSize="${grid.height}">` +
    `<SRS>${escapeVrtText(getCrs(grid.crs).srs.toWKT())}</SRS>` +
    `<GeoTransform>${grid.geoTransform.join(',')}</GeoTransform>${overviews(grid)}${bands}</VRTDataset>`
  );
}

/** Text of the mosaic of no members: nowhere is data. */
export function emptyVrt(grid: RasterGrid, types: readonly string[], merge?: Merge): string {
  const bands = types.map((type, index) =>
    emptyBand(merge ? mergedBand(merge, type, 0).type : type, index + 1),
  );
  return rasterVrt(grid, bands.join(''));
}

function emptyBand(type: string, number: number): string {
  const noData = type.startsWith('Float') ? 'nan' : '0';
  return `<VRTRasterBand dataType="${type}" band="${number}"><NoDataValue>${noData}</NoDataValue></VRTRasterBand>`;
}

/** Returns the virtual raster of single bands of files that overlap. */
export function stackVrt(grid: RasterGrid, bands: readonly { part: MemberFacts; index: number }[]): string {
  const texts = bands.map(({ part, index }, i) => stackedBand(grid, part, index, i + 1));
  return rasterVrt(grid, texts.join(''));
}

function stackedBand(grid: RasterGrid, part: MemberFacts, index: number, number: number): string {
  const { type, noData, description, unit } = part.bands[index]!;
  return (
    `<VRTRasterBand dataType="${type}" band="${number}">` +
    `<Description>${elementText(description)}</Description><UnitType>${elementText(unit)}</UnitType>` +
    (noData === null ? '' : `<NoDataValue>${formatVrtNumber(noData)}</NoDataValue>`) +
    `${memberSource(grid, part, index)}</VRTRasterBand>`
  );
}

/** They let GDAL read the overviews of the members, where it would read all pixels to shrink them. */
function overviews({ width, height }: RasterGrid): string {
  const factors: number[] = [];
  for (let factor = 2; Math.max(width, height) / factor >= MIN_SIDE; factor *= 2) factors.push(factor);
  return factors.length === 0 ? '' : `<OverviewList resampling="nearest">${factors.join(' ')}</OverviewList>`;
}

function formatBand(
  grid: RasterGrid,
  members: readonly MemberFacts[],
  band: MemberBand,
  index: number,
  merge: Merge | undefined,
): string {
  const merged = merge && mergedBand(merge, band.type, sharedNoData(members, index));
  const { type, absent: gap } = merged ?? { type: band.type, absent: band.noData ?? betweenMembers(band) };
  const sources = members.map((member) => memberSource(grid, member, index)).join('');
  return (
    `<VRTRasterBand dataType="${type}" band="${index + 1}"${merge ? ' subClass="VRTDerivedRasterBand"' : ''}>` +
    (merged ? mergeElements(merge, merged, band.type) : '') +
    (merged && band.type === 'Byte' && !isDerivedStatistic(merge) ? BYTE_VALUES : '') +
    `<Description>${escapeVrtText(band.description)}</Description><UnitType>${escapeVrtText(band.unit)}</UnitType>` +
    (gap === null ? '' : `<NoDataValue>${formatVrtNumber(gap)}</NoDataValue>`) +
    `<ColorInterp>${band.colorInterpretation}</ColorInterp>${colorTable(band)}${sources}</VRTRasterBand>`
  );
}

/**
 * Returns the nodata value that all members share. Null if members differ, because the nodata value of one is a valid
 * value of another.
 */
function sharedNoData(members: readonly MemberFacts[], index: number): number | null {
  const [first, ...others] = members.map(({ bands }) => bands[index]!.noData);
  return others.every((one) => Object.is(one, first)) ? first! : null;
}

/** Value between members without a nodata value: 0, or NaN. An alpha band marks these areas itself. */
function betweenMembers({ type, colorInterpretation }: MemberBand): number | null {
  if (colorInterpretation === 'Alpha') return null;
  return type.startsWith('Float') ? Number.NaN : 0;
}

function colorTable({ colors }: MemberBand): string {
  if (!colors) return '';
  const entries = colors.map(([r, g, b, a]) => `<Entry c1="${r}" c2="${g}" c3="${b}" c4="${a}"/>`);
  return `<ColorTable>${entries.join('')}</ColorTable>`;
}

/** If the grid runs around the Earth, a member can be on both of its sides. */
function memberSource(grid: RasterGrid, member: MemberFacts, index: number): string {
  const [x0, dx] = grid.geoTransform;
  const [west, mdx] = member.geoTransform;
  const box = { crs: grid.crs, west: x0, east: x0 + grid.width * dx };
  return movesInto([west, west + member.width * mdx], box)
    .map((move) => sourceAt(grid, member, index, move))
    .join('');
}

function sourceAt({ geoTransform }: RasterGrid, member: MemberFacts, index: number, move: number): string {
  const { type, blockSize, noData } = member.bands[index]!;
  const [x0, dx, , y0, , dy] = geoTransform;
  const [mx0, mdx, , my0, , mdy] = member.geoTransform;
  const kind = noData === null && !member.isMasked ? 'SimpleSource' : 'ComplexSource';
  return (
    `<${kind}><SourceFilename relativeToVRT="0" shared="0">${escapeVrtText(member.name)}</SourceFilename>` +
    `<SourceBand>${index + 1}</SourceBand>` +
    `<SourceProperties RasterXSize="${member.width}" RasterYSize="${member.height}" DataType="${type}" ` +
    `BlockXSize="${blockSize.x}" BlockYSize="${blockSize.y}"/>` +
    `<SrcRect xOff="0" yOff="0" xSize="${member.width}" ySize="${member.height}"/>` +
    `<DstRect xOff="${(mx0 + move - x0) / dx}" yOff="${(my0 - y0) / dy}" ` +
    `xSize="${(member.width * mdx) / dx}" ySize="${(member.height * mdy) / dy}"/>` +
    (noData === null ? '' : `<NODATA>${formatVrtNumber(noData)}</NODATA>`) +
    (member.isMasked ? '<UseMaskBand>true</UseMaskBand>' : '') +
    `</${kind}>`
  );
}
