import { rm, writeFile } from 'node:fs/promises';
import { TaskFailure } from '../../../../../core/errors/failure.js';
import type { RemoteRequest } from '../../../../../core/exchange/ingest.js';
import type { PictureComparison } from '../../../../../core/exchange/parity.js';
import type { Box } from '../../../../../core/geometry/box.js';
import type { Pools } from '../../../../../core/tasks/tasks.js';
import { transformBox } from '../../../../../native/index.js';
import type { JobContext } from '../../../../jobs/kinds.js';
import { renderImage } from '../../../../maps/render.js';
import type { StyledCollection } from '../../../../styles/index.js';
import { askAgain } from '../../../remote/retries.js';
import { isSourceFailure } from '../source-failure.js';
import { createProbe, type Probe } from './scorecard.js';

/** Pixels of the longer side, and minimum pixels of the shorter side. */
const LONG = 256;
const SHORT = 16;
const MAX_BYTES = 8_388_608;
/** Latitudes that are on maps of the CRS. */
const MERCATOR = 'EPSG:3857';
const LATITUDE = 85;
/** Degrees around a box that is a point or a line. */
const MARGIN = 0.001;
/**
 * Maximum differences between images of two renderers. At this size, MapServer and this server draw 6 % of the pixels
 * of all country borders differently.
 */
const MEAN_DIFFERENCE = 0.03;
const DIFFERING_SHARE = 0.05;

export interface PictureFiles {
  readonly source: string;
  readonly target: string;
}

export interface MapSource {
  readonly mapUrl: string;
  /** Name of the layer in the WMS. */
  readonly name: string;
  readonly request: RemoteRequest;
  readonly maxRetries: number;
}

/**
 * Compares the source's map with this server's map, on white, in the default style of each. It never fails, because
 * renderers differ.
 */
export async function drawingProbe(
  pools: Pools,
  context: Pick<JobContext, 'signal' | 'log'>,
  source: MapSource,
  collection: StyledCollection,
  files: PictureFiles,
): Promise<Probe> {
  const window = findWindow(collection.extent84);
  if (!window) return createProbe('drawing', 'skipped', 'The collection has no extent in degrees.');
  try {
    await downloadMap(pools, context, source, window, files.source);
    const { data } = await renderImage({ signal: context.signal, timing: () => {} }, pools, {
      ...window,
      collections: [collection],
      crs: MERCATOR,
      background: '#ffffff',
      format: 'png',
    });
    await writeFile(files.target, data);
    const task = { path: files.source, target: data };
    return buildVerdict(await pools.run('raster.compare', task, { signal: context.signal }));
  } catch (error) {
    if (!isSourceFailure(error)) throw error;
    for (const path of [files.source, files.target]) await rm(path, { force: true });
    return createProbe('drawing', 'warn', `The WMS returned no image: ${error.message}`);
  }
}

interface Window {
  readonly bbox: Box;
  readonly width: number;
  readonly height: number;
}

function findWindow(extent: Box | undefined): Window | undefined {
  if (!extent || extent[0] > extent[2]) return undefined;
  const [west, south, east, north] = extent;
  const [low, high] = [Math.max(south, -LATITUDE), Math.min(north, LATITUDE)];
  if (low > high) return undefined;
  const widen = (from: number, to: number): [number, number] =>
    to - from < MARGIN ? [from - MARGIN, to + MARGIN] : [from, to];
  const [[x1, x2], [y1, y2]] = [widen(west, east), widen(low, high)];
  const bbox = transformBox([x1, y1, x2, y2], 'OGC:CRS84', MERCATOR);
  const ratio = (bbox[2] - bbox[0]) / (bbox[3] - bbox[1]);
  const side = (share: number) => Math.max(SHORT, Math.round(LONG * Math.min(1, share)));
  return { bbox, width: side(ratio), height: side(1 / ratio) };
}

async function downloadMap(
  pools: Pools,
  context: Pick<JobContext, 'signal' | 'log'>,
  { mapUrl, name, request, maxRetries }: MapSource,
  { bbox, width, height }: Window,
  path: string,
): Promise<void> {
  const url = new URL(mapUrl);
  const parameters = {
    SERVICE: 'WMS',
    VERSION: '1.1.1',
    REQUEST: 'GetMap',
    LAYERS: name,
    STYLES: '',
    SRS: MERCATOR,
    BBOX: bbox.join(','),
    WIDTH: String(width),
    HEIGHT: String(height),
    FORMAT: 'image/png',
    TRANSPARENT: 'FALSE',
    BGCOLOR: '0xFFFFFF',
    EXCEPTIONS: 'application/vnd.ogc.se_xml',
  };
  for (const [parameter, value] of Object.entries(parameters)) url.searchParams.set(parameter, value);
  await rm(path, { force: true });
  const task = { ...request, url: url.href, path, maxBytes: MAX_BYTES };
  const { mediaType } = await askAgain(pools, context, maxRetries, 'ingest.download', task);
  if (mediaType === 'image/png') return;
  await rm(path, { force: true });
  throw new TaskFailure('source-unreadable', `it returns ${mediaType ?? 'no media type'}.`);
}

function buildVerdict({ meanDifference, differingShare, sourceInk, targetInk }: PictureComparison): Probe {
  const rounded = (share: number) => Math.round(share * 10_000) / 10_000;
  const facts = {
    meanDifference: rounded(meanDifference),
    differingShare: rounded(differingShare),
    sourceInk: rounded(sourceInk),
    targetInk: rounded(targetInk),
  };
  if ((sourceInk === 0) !== (targetInk === 0))
    return createProbe('drawing', 'warn', 'One of both pictures shows nothing.', facts);
  if (meanDifference > MEAN_DIFFERENCE || differingShare > DIFFERING_SHARE)
    return createProbe('drawing', 'warn', 'The images differ. Compare them.', facts);
  return createProbe('drawing', 'pass', null, facts);
}
