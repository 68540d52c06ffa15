import { FileLayer, fileLayer, HeldLayer, type Layer, PassingLayer, searchedLayer } from '../layers.js';
import type { ProcessRun } from '../run.js';
import { type Attribute, distinct, FeatureTable } from '../table.js';
import { removeCopy } from './copy.js';

/** Both layers of a process in one CRS. */
export interface Sides<Left extends Layer = Layer> {
  readonly left: Left;
  readonly right: HeldLayer | FileLayer;
}

interface Columns {
  /** Whether the result also has the attributes of the right features. */
  carries: boolean;
  /** Attributes after all other attributes. */
  extra?: readonly Attribute[];
}

/**
 * Fills a table from both layers; returns the number of its features. Files of layers are deleted when it resolves.
 */
export function withSides(
  run: ProcessRun,
  columns: Columns,
  fill: (sides: Sides, table: FeatureTable) => Promise<void>,
): Promise<number> {
  return withLayers(run, columns, leftOnce, fill);
}

/** The same where the left layer is read twice, and searched. */
export function withSearchedSides(
  run: ProcessRun,
  columns: Columns,
  fill: (sides: Sides<HeldLayer | FileLayer>, table: FeatureTable) => Promise<void>,
): Promise<number> {
  return withLayers(run, columns, bothSearched, fill);
}

interface Paths {
  left: string;
  right: string;
}

async function withLayers<Left extends Layer>(
  run: ProcessRun,
  { carries, extra = [] }: Columns,
  layers: (run: ProcessRun, paths: Paths) => Promise<Sides<Left>>,
  fill: (sides: Sides<Left>, table: FeatureTable) => Promise<void>,
): Promise<number> {
  const { output } = run.task;
  const paths = { left: `${output}.left`, right: `${output}.right` };
  try {
    const sides = await layers(run, paths);
    const { left, right } = sides;
    const attributes = distinct([...left.attributes, ...(carries ? right.attributes : []), ...extra]);
    const table = FeatureTable.create(output, left.crs, attributes);
    try {
      await fill(sides, table);
      return table.finish();
    } finally {
      table.abandon();
    }
  } finally {
    for (const path of Object.values(paths)) removeCopy(path);
  }
}

/**
 * For a file on the right side, consecutive left rows must be neighbours, so that their windows in the file are
 * small.
 */
async function leftOnce(run: ProcessRun, paths: Paths): Promise<Sides> {
  const { input, overlay } = run.task;
  const { crs } = input.source;
  const right = await searchedLayer(run, overlay!, crs, paths.right);
  const passing = new PassingLayer(run, input, crs);
  return { left: right instanceof HeldLayer ? passing : await fileLayer(run, passing, paths.left), right };
}

async function bothSearched(run: ProcessRun, paths: Paths): Promise<Sides<HeldLayer | FileLayer>> {
  const { input, overlay } = run.task;
  const { crs } = input.source;
  const right = await searchedLayer(run, overlay!, crs, paths.right);
  if (right instanceof FileLayer)
    return { left: await fileLayer(run, new PassingLayer(run, input, crs), paths.left), right };
  const left = await searchedLayer(run, input, crs, paths.left);
  return { left, right: left instanceof HeldLayer ? right : await fileLayer(run, right, paths.right) };
}
