import { type IndexedCopy, indexedCopy, removeCopy } from './copy.js';
import { attributesOf, type Run } from './run.js';
import { type Attribute, distinct, FeatureTable } from './table.js';

/** Both layers of a process in one CRS, in an order and with an index that make windows of neighbours small. */
export interface Sides {
  readonly left: IndexedCopy;
  readonly right: IndexedCopy;
}

interface Columns {
  /** The result has the attributes of the right features, too. */
  carries: boolean;
  /** Attributes behind all others. */
  extra?: readonly Attribute[];
}

/** Fills a table from both layers; the number of its features. The copies are gone when it resolves. */
export async function withSides(
  run: Run,
  { carries, extra = [] }: Columns,
  fill: (sides: Sides, table: FeatureTable) => Promise<void>,
): Promise<number> {
  const { input, overlay, output } = run.task;
  const { crs } = input.source;
  const paths = { left: `${output}.left`, right: `${output}.right` };
  try {
    const left = await indexedCopy(run, input, crs, paths.left);
    const right = await indexedCopy(run, overlay!, crs, paths.right);
    const attributes = distinct([...attributesOf(left), ...(carries ? attributesOf(right) : []), ...extra]);
    const table = FeatureTable.create(output, crs, attributes);
    try {
      await fill({ left, right }, table);
      return table.finish();
    } finally {
      table.abandon();
    }
  } finally {
    for (const path of Object.values(paths)) removeCopy(path);
  }
}
