import type Gdal from 'gdal-async';
import type { Dataset } from 'gdal-async';
import { heldResources } from '../../core/observability/held.js';

/** Functions of GDAL that return a dataset which the caller must close. */
const OPENERS = [
  'open',
  'openAsync',
  'translate',
  'translateAsync',
  'warp',
  'warpAsync',
  'buildVRT',
  'buildVRTAsync',
  'vectorTranslate',
  'vectorTranslateAsync',
] as const;

const CREATORS = ['create', 'createAsync', 'createCopy', 'createCopyAsync'] as const;

/** Tracks all datasets that this thread opens, until they are closed or collected. */
export function watchDatasets(gdal: typeof Gdal): void {
  for (const name of OPENERS) watchFunction(gdal, name);
  for (const name of CREATORS) watchFunction(gdal.Driver.prototype, name);
  const { close } = gdal.Dataset.prototype;
  gdal.Dataset.prototype.close = function closeWatched(this: Dataset) {
    heldResources.closed(this);
    return close.call(this);
  };
}

function watchFunction<K extends string>(owner: Record<K, unknown>, name: K): void {
  const open = owner[name] as (...parts: unknown[]) => unknown;
  function watched(this: unknown, ...parts: unknown[]): unknown {
    const opened = open.apply(this, parts);
    return opened instanceof Promise ? opened.then(note) : note(opened);
  }
  Object.defineProperty(owner, name, { value: watched, configurable: true, writable: true });
}

/** GDAL returns the same object for a dataset that is open already. */
function note<T>(opened: T): T {
  heldResources.opened('gdal-dataset', describe(opened as Dataset), opened as Dataset);
  return opened;
}

/** Path or name of a dataset. A virtual raster is named by its XML, which can contain anything. */
function describe({ description }: Dataset): string {
  if (description.startsWith('<')) return 'virtual raster';
  return description === '' ? 'view of a dataset' : description.replace(/(password=)\S+/gi, '$1***');
}
