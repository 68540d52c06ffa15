/** Several rasters as one. Members are opened when a window touches them, and closed when too many are open. */

import { createHash } from 'node:crypto';
import { TaskFailure } from '../../../../core/failure.js';
import { mergeProblem } from '../../../../core/raster-sources.js';
import type { RasterGrid, RasterMosaic, RasterSource } from '../../../../core/rasters.js';
import { gdal, unreadable } from '../../gdal.js';
import type { Opening, Outcome } from '../opening.js';
import { factsOf, type MemberFacts } from './facts.js';
import { MAX_MERGED } from './merge.js';
import { mosaicVrt } from './vrt.js';

/** Members of one task; the gateway sends those that the window touches. */
const MAX_MEMBERS = 2000;

/** `openingOf` opens a member. */
export async function mosaicOpening(
  source: RasterMosaic,
  openingOf: (source: RasterSource) => Promise<Opening>,
): Promise<Opening> {
  const { members, grid, merge } = source;
  const most = merge ? MAX_MERGED : MAX_MEMBERS;
  if (members.length === 0) throw new TaskFailure('no-data', 'There is no raster in the window.');
  if (members.length > most)
    throw new TaskFailure('too-large', `The window holds ${members.length} rasters: ask for a smaller one.`);
  const openings = await Promise.all(members.map((member) => openingOf(member.source)));
  const hash = (texts: string[]) => createHash('sha1').update(texts.join('\0')).digest('hex');
  return {
    key: `mosaic ${hash([...openings.map(({ key }) => key), JSON.stringify([grid, merge])])}`,
    origin: `mosaic ${hash(openings.map(({ origin }) => origin))}`,
    stamp: hash(openings.map(({ stamp }) => stamp)),
    open: () => openMosaic(source, openings),
    outcome: () => outcomeOf(openings),
  };
}

async function openMosaic({ members, grid, merge }: RasterMosaic, openings: Opening[]) {
  const first = await factsOf(members[0]!, openings[0]!, grid?.crs);
  const crs = grid?.crs ?? first.crs;
  const facts: MemberFacts[] = [];
  for (const [index, member] of members.entries()) {
    const one = await factsOf(member, openings[index]!, crs);
    if (one.bands.length !== first.bands.length)
      throw new TaskFailure('source-unreadable', `The raster ${member.id} has other bands than the first.`);
    const problem = merge && mergeProblem(one.bands);
    if (problem) throw new TaskFailure('invalid-input', `The raster ${member.id}: ${problem}.`);
    facts.push(one);
  }
  try {
    const dataset = await gdal.openAsync(mosaicVrt(grid ?? gridAround(crs, facts), facts, merge), 'r', [
      'VRT',
    ]);
    return { dataset, driver: 'mosaic', close: () => dataset.close() };
  } catch (error) {
    throw unreadable('The mosaic could not be put together.', error);
  }
}

/** That of a member that has one. */
async function outcomeOf(openings: readonly Opening[]): Promise<Outcome> {
  for (const { outcome } of openings) {
    const failure = await outcome?.();
    if (failure && (failure.failure || failure.changed)) return failure;
  }
  return { changed: false };
}

/** On the pixels of the finest. */
function gridAround(crs: string, facts: readonly MemberFacts[]): RasterGrid {
  const dx = Math.min(...facts.map(({ geoTransform }) => geoTransform[1]));
  const dy = Math.max(...facts.map(({ geoTransform }) => geoTransform[5]));
  const west = Math.min(...facts.map(({ geoTransform }) => geoTransform[0]));
  const north = Math.max(...facts.map(({ geoTransform }) => geoTransform[3]));
  const east = Math.max(...facts.map(({ geoTransform, width }) => geoTransform[0] + width * geoTransform[1]));
  const south = Math.min(
    ...facts.map(({ geoTransform, height }) => geoTransform[3] + height * geoTransform[5]),
  );
  return {
    crs,
    geoTransform: [west, dx, 0, north, 0, dy],
    width: Math.max(1, Math.round((east - west) / dx)),
    height: Math.max(1, Math.round((south - north) / dy)),
  };
}
