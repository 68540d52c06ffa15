/** Bands of several remote files as one raster. */

import { createHash } from 'node:crypto';
import { TaskFailure } from '../../../../core/errors/failure.js';
import type { BandStack, RemoteRaster } from '../../../../core/rasters/rasters.js';
import { gdal, unreadable } from '../../../gdal/gdal.js';
import { type MemberFacts, readMemberFacts } from '../mosaic/facts.js';
import { gridAround } from '../mosaic/grid.js';
import { stackVrt } from '../mosaic/vrt.js';
import type { OpenRaster, RasterOpener, ReadOutcome } from '../opener.js';

const MAX_BANDS = 256;

export async function stackOpening(
  { parts, bands }: BandStack,
  openingOf: (source: RemoteRaster) => Promise<RasterOpener>,
): Promise<RasterOpener> {
  const openings = await Promise.all(parts.map(openingOf));
  const hash = (texts: readonly string[]) => createHash('sha1').update(texts.join('\0')).digest('hex');
  return {
    key: `stack ${hash([...openings.map(({ key }) => key), String(bands)])}`,
    origin: `stack ${hash(openings.map(({ origin }) => origin))}`,
    stamp: hash(openings.map(({ stamp }) => stamp)),
    files: openings.flatMap(({ files = [] }) => files),
    open: () => openStack(parts, openings, bands),
    outcome: (error) => findPartOutcome(openings, error),
  };
}

async function openStack(
  parts: readonly RemoteRaster[],
  openings: readonly RasterOpener[],
  bands: readonly number[] | undefined,
): Promise<OpenRaster> {
  const facts: MemberFacts[] = [];
  for (const [i, source] of parts.entries()) {
    const part = { id: `part ${i + 1}`, source, extent84: [-180, -90, 180, 90] } as const;
    facts.push(await readMemberFacts(part, openings[i]!, facts[0]?.crs));
  }
  const all = facts.flatMap((part) => part.bands.map((_, index) => ({ part, index })));
  const chosen = bands ? bands.map((band) => all[band - 1]) : all;
  if (chosen.length > MAX_BANDS || chosen.includes(undefined))
    throw new TaskFailure('source-unreadable', `The source has ${all.length} bands, other than configured.`);
  const text = stackVrt(gridAround(facts[0]!.crs, facts), chosen as NonNullable<(typeof chosen)[number]>[]);
  try {
    const dataset = await gdal.openAsync(text, 'r', ['VRT']);
    return { dataset, driver: 'GTiff', name: text, close: () => dataset.close() };
  } catch (error) {
    throw unreadable('The bands could not be combined.', error);
  }
}

/** Returns the outcome of the first part that has one. */
export async function findPartOutcome(
  openings: readonly RasterOpener[],
  error: unknown,
): Promise<ReadOutcome> {
  for (const { outcome } of openings) {
    const failure = await outcome?.(error);
    if (failure && (failure.failure || failure.changed)) return failure;
  }
  return { changed: false };
}
