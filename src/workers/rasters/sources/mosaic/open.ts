/** Several rasters as one. Members are opened when a window touches them, and closed when too many are open. */

import { createHash } from 'node:crypto';
import { mergeProblem } from '../../../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import type { RasterGrid, RasterMosaic, RasterSource } from '../../../../core/rasters/rasters.js';
import { gdal, unreadable } from '../../../gdal/gdal.js';
import type { OpenRaster, RasterOpener } from '../opener.js';
import { findPartOutcome } from '../stack/open.js';
import { type MemberFacts, readMemberFacts } from './facts.js';
import { gridAround } from './grid.js';
import { MAX_MERGED } from './merge.js';
import { leaveOutFaulty, readableMembers } from './readable.js';
import { emptyVrt, mosaicVrt } from './vrt.js';

/** Maximum members of one task. The gateway sends the members that touch the window. */
const MAX_MEMBERS = 2000;

/** `openingOf` opens a member. */
export async function mosaicOpening(
  source: RasterMosaic,
  openingOf: (source: RasterSource) => Promise<RasterOpener>,
): Promise<RasterOpener> {
  const { members, grid, merge, bandTypes } = source;
  const most = merge ? MAX_MERGED : MAX_MEMBERS;
  if (source.search)
    throw new TaskFailure(
      'invalid-input',
      'Its scenes are searched for each window, so it has no complete raster.',
    );
  if (members.length === 0 && !(bandTypes && grid))
    throw new TaskFailure('no-data', 'There is no raster in the window.');
  if (members.length > most)
    throw new TaskFailure('too-large', `The window has ${members.length} rasters. Request a smaller one.`);
  if (bandTypes && grid) return openingOfReadable(source, { grid, bandTypes }, openingOf);
  const openings = await Promise.all(members.map((member) => openingOf(member.source)));
  return {
    ...buildIdentity(source, openings),
    open: () => openMosaic(source, openings),
    outcome: (error) => findPartOutcome(openings, error),
  };
}

function buildIdentity({ grid, merge }: RasterMosaic, openings: readonly RasterOpener[]) {
  const hash = (texts: string[]) => createHash('sha1').update(texts.join('\0')).digest('hex');
  return {
    key: `mosaic ${hash([...openings.map(({ key }) => key), JSON.stringify([grid, merge])])}`,
    origin: `mosaic ${hash(openings.map(({ origin }) => origin))}`,
    stamp: hash(openings.map(({ stamp }) => stamp)),
  };
}

/** Opener of a mosaic that can lack members. */
async function openingOfReadable(
  source: RasterMosaic,
  { grid, bandTypes }: { grid: RasterGrid; bandTypes: readonly string[] },
  openingOf: (source: RasterSource) => Promise<RasterOpener>,
): Promise<RasterOpener> {
  const { merge } = source;
  const { members, lost } = await readableMembers(
    source.members,
    { crs: grid.crs, bandTypes, merge },
    openingOf,
  );
  const openings = members.map(({ opening }) => opening);
  return {
    ...buildIdentity(source, openings),
    lost,
    open: () =>
      openVrt(
        members.length === 0
          ? emptyVrt(grid, bandTypes, merge)
          : mosaicVrt(
              grid,
              members.map(({ facts }) => facts),
              merge,
            ),
      ),
    outcome: async (error) =>
      (await leaveOutFaulty(members, error)) ? { changed: true } : findPartOutcome(openings, error),
  };
}

async function openMosaic(
  { members, grid, merge }: RasterMosaic,
  openings: RasterOpener[],
): Promise<OpenRaster> {
  const first = await readMemberFacts(members[0]!, openings[0]!, grid?.crs);
  const crs = grid?.crs ?? first.crs;
  const facts: MemberFacts[] = [];
  for (const [index, member] of members.entries()) {
    const one = await readMemberFacts(member, openings[index]!, crs);
    if (one.bands.length !== first.bands.length)
      throw new TaskFailure('source-unreadable', `The raster ${member.id} has other bands than the first.`);
    const problem = merge && mergeProblem(one.bands);
    if (problem) throw new TaskFailure('invalid-input', `The raster ${member.id}: ${problem}.`);
    facts.push(one);
  }
  return openVrt(mosaicVrt(grid ?? gridAround(crs, facts), facts, merge));
}

async function openVrt(text: string): Promise<OpenRaster> {
  try {
    const dataset = await gdal.openAsync(text, 'r', ['VRT']);
    return { dataset, driver: 'mosaic', close: () => dataset.close() };
  } catch (error) {
    throw unreadable('The mosaic could not be built.', error);
  }
}
