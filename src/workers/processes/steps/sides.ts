import {
  IndexedFileLayer,
  type Layer,
  loadSearchable,
  MemoryLayer,
  StreamedLayer,
  writeLayerFile,
} from '../layers.js';
import type { ProcessRun } from '../run.js';
import { type Attribute, distinct, FeatureTable } from '../table.js';
import { removeCopy } from './copy.js';

/** The two layers of a process in one CRS. */
export interface LayerPair<Left extends Layer = Layer> {
  readonly left: Left;
  readonly right: MemoryLayer | IndexedFileLayer;
}

interface Columns {
  /** Whether the result also has the attributes of the right features. */
  carries: boolean;
  /** Attributes after all other attributes. */
  extra?: readonly Attribute[];
}

/**
 * Fills a table from two layers, and returns the number of its features. The left layer can be read once. Files of
 * layers are deleted at the end.
 */
export function joinLayers(
  run: ProcessRun,
  columns: Columns,
  fill: (pair: LayerPair, table: FeatureTable) => Promise<void>,
): Promise<number> {
  return withLayers(run, columns, openForSinglePass, fill);
}

/** Fills a table like `joinLayers`. The left layer can also be read repeatedly and searched. */
export function joinSearchedLayers(
  run: ProcessRun,
  columns: Columns,
  fill: (pair: LayerPair<MemoryLayer | IndexedFileLayer>, table: FeatureTable) => Promise<void>,
): Promise<number> {
  return withLayers(run, columns, openSearchable, fill);
}

interface Paths {
  left: string;
  right: string;
}

async function withLayers<Left extends Layer>(
  run: ProcessRun,
  { carries, extra = [] }: Columns,
  open: (run: ProcessRun, paths: Paths) => Promise<LayerPair<Left>>,
  fill: (pair: LayerPair<Left>, table: FeatureTable) => Promise<void>,
): Promise<number> {
  const { output } = run.task;
  const paths = { left: `${output}.left`, right: `${output}.right` };
  try {
    const pair = await open(run, paths);
    const { left, right } = pair;
    const attributes = distinct([...left.attributes, ...(carries ? right.attributes : []), ...extra]);
    const table = FeatureTable.create(output, left.crs, attributes);
    try {
      await fill(pair, table);
      return table.finish();
    } finally {
      // Has no effect after `finish`.
      table.abandon();
    }
  } finally {
    for (const path of Object.values(paths)) removeCopy(path);
  }
}

/**
 * If the right layer is in a file, the left layer is also written to a file, which sorts it spatially. Consecutive left
 * rows are then neighbours, so that their windows in the right file are small.
 */
async function openForSinglePass(run: ProcessRun, paths: Paths): Promise<LayerPair> {
  const { input, overlay } = run.task;
  const { crs } = input.source;
  const right = await loadSearchable(run, overlay!, crs, paths.right);
  const left = new StreamedLayer(run, input, crs);
  if (right instanceof MemoryLayer) return { left, right };
  return { left: await writeLayerFile(run, left, paths.left), right };
}

/** Both layers are in memory or both in files: rows of a file and its windows need spatial order on both sides. */
async function openSearchable(
  run: ProcessRun,
  paths: Paths,
): Promise<LayerPair<MemoryLayer | IndexedFileLayer>> {
  const { input, overlay } = run.task;
  const { crs } = input.source;
  const right = await loadSearchable(run, overlay!, crs, paths.right);
  if (right instanceof IndexedFileLayer)
    return { left: await writeLayerFile(run, new StreamedLayer(run, input, crs), paths.left), right };
  const left = await loadSearchable(run, input, crs, paths.left);
  return { left, right: left instanceof MemoryLayer ? right : await writeLayerFile(run, right, paths.right) };
}
