import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findAttribution } from '../../core/catalog/abilities.js';
import type { Expression } from '../../core/cql2/index.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { LEGEND_ZOOM } from '../../core/maps/legend/entries.js';
import { legendWidth, ROW } from '../../core/maps/legend/svg.js';
import { type LegendPart, type PageLayout, type Paper, pageLayout } from '../../core/processes/map-pages.js';
import { resolveCrs } from '../../native/crs.js';
import { releaseBytes, transformPoints } from '../../native/index.js';
import type { JobContext } from '../jobs/kinds.js';
import type { TaskContext } from '../kit/run-task.js';
import { boxInCrs, groundSize } from '../maps/ground.js';
import { legendPng, listLegendLines } from '../maps/legend.js';
import { renderImage } from '../maps/render.js';
import { MAP_PAGE_FORMATS } from './catalogue/map.js';
import type { ProcessDefinition, ProcessWork } from './definition.js';
import type { ExecutionInput, ResultFile, RunDeps } from './execution.js';
import type { Drawable } from './sources.js';

type MapWork = Extract<ProcessWork, { kind: 'map' }>;
type Format = keyof typeof MAP_PAGE_FORMATS;

/** The inputs of a map, as their schemas let them through. */
interface MapValues {
  layers?: string[];
  bbox?: [number, number, number, number];
  crs?: string;
  format?: Format;
  width?: number;
  height?: number;
  paper?: Paper;
  orientation?: 'landscape' | 'portrait';
  dpi?: number;
  title?: string;
  legend?: boolean;
}

/** Contents of a map, bottom first. */
interface MapContent {
  readonly collections: readonly Drawable[];
  readonly filters: ReadonlyMap<string, Expression>;
}

/** A box of a CRS, x,y ordered. */
interface Window {
  readonly bbox: Box;
  readonly crs: string;
}

/** Renders collections as an image or a page. */
export async function runMap(
  context: JobContext<ExecutionInput>,
  { title }: ProcessDefinition,
  work: MapWork,
  folder: string,
  deps: RunDeps,
): Promise<ResultFile> {
  const values = context.input.values as unknown as MapValues;
  const content = await context.step('read', 'Reading the inputs', () =>
    loadContent(context, work, folder, deps),
  );
  const { format = 'pdf' } = values;
  const path = join(folder, `${work.output}.${format}`);
  await context.step('process', title, () =>
    format === 'pdf'
      ? writePage(context, values, content, path, deps)
      : writePicture(context, values, { content, format }, path, deps),
  );
  return { path, mediaType: MAP_PAGE_FORMATS[format], bytes: (await stat(path)).size };
}

async function loadContent(
  { input: { values, sources: references, principal }, signal }: JobContext<ExecutionInput>,
  { input }: MapWork,
  folder: string,
  { sources }: RunDeps,
): Promise<MapContent> {
  const { layers = [] } = values as unknown as MapValues;
  const reference = references[input];
  const names = reference?.kind === 'collection' ? [...layers, reference.id] : layers;
  await sources.measure(names, principal);
  const collections = layers.map((id, i) => sources.drawable(`/inputs/layers/${i}`, id, principal));
  if (reference === undefined) {
    if (collections.length > 0) return { collections, filters: new Map() };
    throw badParameter('/inputs/layers', 'must name a collection if there are no features');
  }
  const { collection, filter } = await sources.layer(input, reference, principal, folder, signal);
  // Maps identify filters by collection id, which one of the layers can also have.
  const own = { ...collection, id: `${collection.id} ${input}` };
  return {
    collections: [...collections, own],
    filters: filter === undefined ? new Map() : new Map([[own.id, filter]]),
  };
}

async function writePicture(
  { signal }: JobContext,
  values: MapValues,
  { content, format }: { content: MapContent; format: Exclude<Format, 'pdf'> },
  path: string,
  { pools }: RunDeps,
): Promise<void> {
  const { width = 1024, height = 768 } = values;
  const window = computeWindow(content.collections, values, width / height);
  const background = format === 'jpeg' ? '#ffffff' : 'transparent';
  const request = { ...content, ...window, width, height, background, format, wraps: true };
  const { data } = await renderImage(taskContext(signal), pools, request);
  await writeFile(path, data, { flag: 'wx', mode: 0o600 });
  releaseBytes(data);
}

async function writePage(
  { signal }: JobContext,
  values: MapValues,
  content: MapContent,
  output: string,
  { pools }: RunDeps,
): Promise<void> {
  const { paper = 'A4', orientation = 'landscape', dpi = 150, title = '', legend: hasLegend = true } = values;
  const isPortrait = orientation === 'portrait';
  const layout = pageLayout({ paper, isPortrait, hasTitle: title !== '', hasLegend });
  const window = computeWindow(content.collections, values, layout.map[2] / layout.map[3]);
  const x = taskContext(signal);
  const size = buildPixels(layout, dpi);
  const picture = { ...content, ...window, ...size, background: '#ffffff', format: 'jpeg' as const };
  const { data: map } = await renderImage(x, pools, {
    ...picture,
    quality: 92,
    scale: dpi / 96,
    wraps: true,
  });
  const legend = hasLegend ? await buildLegend(x, pools, content.collections) : [];
  const [metres] = groundSize(window.bbox, window.crs);
  const task = {
    layout,
    map,
    title,
    legend,
    metres,
    north: computeNorth(window),
    note: formatNote(content),
    output,
  };
  await pools.run('process.map-page', task, { signal });
}

const taskContext = (signal: AbortSignal): TaskContext => ({ signal, timing: () => {} });

function buildPixels({ map: [, , width, height] }: PageLayout, dpi: number) {
  return { width: Math.round((width / 72) * dpi), height: Math.round((height / 72) * dpi) };
}

/** The smallest box of this shape (width over height) around the data. Throws 400 with the name of the input. */
function computeWindow(
  collections: readonly Drawable[],
  { bbox, crs: name = 'EPSG:3857' }: MapValues,
  shape: number,
): Window {
  const crs = resolveCrs('/inputs/crs', name);
  const [at, box84] = bbox ? ['/inputs/bbox', bbox] : ['/inputs/crs', computeExtent(collections)];
  return { bbox: fitShape(boxInCrs(at, box84, CRS84, crs), shape), crs: crs.proj };
}

/** Latitudes of a map of the complete extent. Web Mercator ends here, and data beyond is rarely of interest. */
const LATITUDES = [-85, 85] as const;

function computeExtent(collections: readonly Drawable[]): Box {
  const boxes = collections.flatMap(({ extent84 }) => (extent84 ? [extent84] : []));
  if (boxes.length === 0)
    throw new ApiError('invalid-parameter', 'bbox: is required, because the layers have no known extent.');
  const crosses = boxes.some(([west, , east]) => west > east);
  const [west, east] = crosses
    ? [-180, 180]
    : [Math.min(...boxes.map((box) => box[0])), Math.max(...boxes.map((box) => box[2]))];
  const south = Math.max(LATITUDES[0], Math.min(...boxes.map((box) => box[1])));
  const north = Math.min(LATITUDES[1], Math.max(...boxes.map((box) => box[3])));
  return [west, south, east, north];
}

/** Widened or heightened around its middle. A point gets some room. */
function fitShape([minx, miny, maxx, maxy]: Box, shape: number): Box {
  const [x, y] = [(minx + maxx) / 2, (miny + maxy) / 2];
  const least = Math.max(Math.abs(x), Math.abs(y), 1) * 1e-5;
  const [width, height] = [Math.max(maxx - minx, least), Math.max(maxy - miny, least)];
  const [dx, dy] = width / height < shape ? [height * shape, height] : [width, width / shape];
  return [x - dx / 2, y - dy / 2, x + dx / 2, y + dy / 2];
}

/** Degrees clockwise from the top of the map to north, in its middle. */
function computeNorth({ bbox: [minx, miny, maxx, maxy], crs }: Window): number {
  const middle = new Float64Array([(minx + maxx) / 2, (miny + maxy) / 2]);
  transformPoints(middle, crs, 'OGC:CRS84');
  const [longitude, latitude] = middle as unknown as [number, number];
  if (!Number.isFinite(longitude) || !Number.isFinite(latitude)) return 0;
  const step = latitude > 89.99 ? -0.01 : 0.01;
  const line = new Float64Array([longitude, latitude, longitude, latitude + step]);
  transformPoints(line, 'OGC:CRS84', crs);
  const [dx, dy] = [line[2]! - line[0]!, line[3]! - line[1]!].map((d) => d * Math.sign(step)) as [
    number,
    number,
  ];
  return Number.isFinite(dx) && Number.isFinite(dy) ? (Math.atan2(dx, dy) * 180) / Math.PI : 0;
}

/** Points of a pixel at 96 dpi, and the scale of the legend images relative to it. */
const POINTS = 0.75;
const LEGEND_SCALE = 3;

async function buildLegend(
  x: TaskContext,
  pools: RunDeps['pools'],
  collections: readonly Drawable[],
): Promise<LegendPart[]> {
  const parts: LegendPart[] = [];
  // The top layer is first, as in layer lists.
  for (const collection of [...collections].reverse()) {
    const entries = listLegendLines(collection);
    if (entries.length === 0) continue;
    const png = await legendPng(x, pools, entries, { zoom: LEGEND_ZOOM, scale: LEGEND_SCALE });
    const size = { width: legendWidth(entries) * POINTS, height: entries.length * ROW.height * POINTS };
    parts.push({ title: collection.title, png, ...size });
  }
  return parts;
}

function formatNote({ collections }: MapContent): string {
  const credits = collections.map((one) =>
    findAttribution(one)
      ?.replace(/<[^>]*>/g, '')
      .trim(),
  );
  return [...new Set(credits.filter((credit) => credit))].join('; ');
}
