import type { Dataset } from './gdal.js';

const notes = new WeakMap<Dataset, string>();

/** Keeps a sentence on what was assumed of a file when it was opened. */
export function noteDataset(dataset: Dataset, note: string): void {
  notes.set(dataset, note);
}

/** What was assumed of the file of a dataset; undefined where nothing was. */
export const noteOfDataset = (dataset: Dataset): string | undefined => notes.get(dataset);
