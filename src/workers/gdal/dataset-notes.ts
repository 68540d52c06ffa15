import type { Dataset } from './gdal.js';

const notes = new WeakMap<Dataset, string[]>();

/** Stores a sentence about an assumption that was made when a file was opened. */
export function noteDataset(dataset: Dataset, note: string): void {
  notes.set(dataset, [...listDatasetNotes(dataset), note]);
}

/** Returns the assumptions about the file of a dataset. */
export const listDatasetNotes = (dataset: Dataset): readonly string[] => notes.get(dataset) ?? [];

const drivers = new WeakMap<Dataset, string>();

/** Keeps the driver of the file behind a virtual dataset. */
export function nameDriver(dataset: Dataset, driver: string): void {
  drivers.set(dataset, driver);
}

/** Name of the OGR driver that reads the file of a dataset. */
export const getDatasetDriver = (dataset: Dataset): string =>
  drivers.get(dataset) ?? dataset.driver.description;

const features = new WeakMap<Dataset, string>();

/** Keeps the path of the GeoJSON text whose features a dataset has. */
export function nameFeatures(dataset: Dataset, path: string): void {
  features.set(dataset, path);
}

/** Path of the GeoJSON text whose features a dataset has; undefined where they come from elsewhere. */
export const findDatasetFeatures = (dataset: Dataset): string | undefined => features.get(dataset);

const inDegrees = new WeakSet<Dataset>();

/** Records that the names of the columns of coordinates say that they contain degrees. */
export function markNamedDegrees(dataset: Dataset): void {
  inDegrees.add(dataset);
}

export const isInNamedDegrees = (dataset: Dataset): boolean => inDegrees.has(dataset);
