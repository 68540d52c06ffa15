/** Facts about a member that place it among the other members without opening it again. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import type { MosaicMember } from '../../../../core/rasters/rasters.js';
import { type GdalCrs, getCrs, sameCrs } from '../../../gdal/crs.js';
import { type Dataset, gdal, scratchPath, unreadable } from '../../../gdal/gdal.js';
import { type GeoTransform, getGeoreference } from '../../georeference.js';
import { gridArguments, mercatorGrid } from '../../mercator.js';
import { nodataIn } from '../../pixels/nodata.js';
import type { RasterOpener } from '../opener.js';
import { findTurnedCrs } from './turn.js';

export interface MemberBand {
  type: string;
  noData: number | null;
  blockSize: { x: number; y: number };
  colorInterpretation: string;
  description: string;
  unit: string;
  /** Red, green, blue and alpha of each value. */
  colors?: [number, number, number, number][];
}

export interface MemberFacts {
  /** GDAL's name of the raster in the mosaic's CRS. */
  name: string;
  width: number;
  height: number;
  geoTransform: GeoTransform;
  crs: string;
  bands: MemberBand[];
  /**
   * Whether a mask distinguishes its values from the surroundings: it was warped and does not have a nodata value.
   */
  isMasked: boolean;
}

interface Kept {
  stamp: string;
  facts: Promise<MemberFacts>;
}

/** Maximum members of all mosaics in the cache. */
const KEPT = 20_000;
const factsByPath = new Map<string, Kept>();

/** Returns the facts. A member is opened once for each of its states. Default of `crs`: the CRS of the member. */
export function readMemberFacts(
  member: MosaicMember,
  opening: RasterOpener,
  crs: string | undefined,
): Promise<MemberFacts> {
  const key = `${opening.key}\0${crs ?? ''}`;
  const before = factsByPath.get(key);
  if (before?.stamp === opening.stamp) return before.facts;
  forget(key);
  const facts = read(member, opening, crs);
  facts.catch(() => factsByPath.get(key)?.facts === facts && factsByPath.delete(key));
  factsByPath.set(key, { stamp: opening.stamp, facts });
  if (factsByPath.size > KEPT) forget(factsByPath.keys().next().value as string);
  return facts;
}

/** A member that was warped has a description in memory. */
function forget(key: string): void {
  factsByPath.get(key)?.facts.then(
    ({ name }) => name.startsWith('/vsimem/') && gdal.vsimem.release(name),
    () => {},
  );
  factsByPath.delete(key);
}

async function read(
  member: MosaicMember,
  opening: RasterOpener,
  crs: string | undefined,
): Promise<MemberFacts> {
  const opened = await opening.open();
  try {
    if (opened.name === undefined)
      throw new TaskFailure('invalid-input', `Rasters such as ${member.id} cannot be part of a mosaic.`);
    const place = getGeoreference(opened.dataset);
    const fits = place.northUp && (crs === undefined || sameCrs(place.crs, getCrs(crs)));
    const facts = describe(opened.dataset, opened.name, false);
    if (fits) return facts;
    const isMasked = facts.bands.every(
      ({ noData, colorInterpretation }) => noData === null && colorInterpretation !== 'Alpha',
    );
    return await warp(opened.dataset, getCrs(crs ?? place.crs.text), isMasked);
  } catch (error) {
    throw unreadable(`The raster ${member.id} of the mosaic could not be read.`, error);
  } finally {
    opened.close();
  }
}

async function warp(dataset: Dataset, crs: GdalCrs, isMasked: boolean): Promise<MemberFacts> {
  const grid = await mercatorGrid(dataset, crs);
  if (grid) return warpTo(dataset, crs.text, isMasked, gridArguments(grid));
  const plain = await warpTo(dataset, crs.text, isMasked);
  const turn = findTurnedCrs(crs);
  if (!turn || computeWidth(plain) <= turn.half) return plain;
  // Across the antimeridian a few pixels would go around the earth.
  const turned = await warpTo(dataset, turn.crs, isMasked);
  const isNarrower = computeWidth(turned) < computeWidth(plain);
  gdal.vsimem.release(isNarrower ? plain.name : turned.name);
  if (!isNarrower) return plain;
  const [x, ...rest] = turned.geoTransform;
  return { ...turned, crs: plain.crs, geoTransform: [x + turn.half, ...rest] };
}

const computeWidth = ({ geoTransform, width }: MemberFacts) => geoTransform[1] * width;

async function warpTo(
  source: Dataset,
  crs: string,
  isMasked: boolean,
  grid: readonly string[] = [],
): Promise<MemberFacts> {
  const name = scratchPath('.vrt');
  const target = ['-of', 'VRT', '-t_srs', crs, '-r', 'near', '-et', '0.125'];
  const mask = isMasked ? ['-dstalpha'] : [];
  const warped = await gdal.warpAsync(name, null, [source], [...target, ...grid, ...mask]);
  try {
    return describe(warped, name, isMasked);
  } finally {
    warped.close();
  }
}

/** `isMasked`: the last band is the mask of the other bands. */
function describe(dataset: Dataset, name: string, isMasked: boolean): MemberFacts {
  const { geoTransform, crs } = getGeoreference(dataset);
  const count = dataset.bands.count() - (isMasked ? 1 : 0);
  return {
    name,
    width: dataset.rasterSize.x,
    height: dataset.rasterSize.y,
    geoTransform,
    crs: crs.text,
    bands: Array.from({ length: count }, (_, index) => buildBand(dataset, index + 1)),
    isMasked,
  };
}

function buildBand(dataset: Dataset, number: number): MemberBand {
  const band = dataset.bands.get(number);
  const table = band.colorTable;
  const entries = table && Array.from({ length: table.count() }, (_, index) => table.get(index));
  return {
    type: band.dataType ?? 'Byte',
    // GDAL fills areas outside all members with the nearest value of the type, which would be a valid value.
    noData: nodataIn(band),
    blockSize: band.blockSize,
    colorInterpretation: band.colorInterpretation ?? 'Undefined',
    description: band.description ?? '',
    unit: band.unitType ?? '',
    ...(entries && { colors: entries.map(({ c1, c2, c3, c4 }) => [c1, c2, c3, c4]) }),
  };
}
