import { basename } from 'node:path';
import type { AssumedCrs } from '../geometry/stated-crs.js';
import { hasFeatures } from './abilities.js';
import type { Collection } from './collection.js';

const UNDECLARED = 'No coordinate reference system is declared.';

/** Assumption for operators, with the reason. */
export function explainAssumedCrs({ as, crs, because, isDeclared }: AssumedCrs): string {
  if (isDeclared)
    return 'The data has local units, as an operator declared. The collection is not on maps of the Earth.';
  const reason = because === undefined ? '' : `, because ${because}`;
  if (as === 'degrees') return `${UNDECLARED} Longitudes and latitudes (WGS 84) were assumed${reason}.`;
  if (as === 'guess') return `${UNDECLARED} ${crs} was guessed${reason}.`;
  return `${UNDECLARED} The collection is drawn in a local CRS and is not on maps of the Earth${reason}.`;
}

/** Remedy for operators. It starts with a verb, as `splitRefusal` expects. */
export function suggestDeclaredCrs({ as }: AssumedCrs, file: string): string {
  const what = as === 'plane' ? 'Declare the CRS:' : 'Declare the CRS if that is wrong:';
  const name = basename(file);
  const option = /[\s'"#]/.test(name) ? JSON.stringify(`${name}=EPSG:n`) : `${name}=EPSG:n`;
  return `${what} on the page /sources, with --crs ${option}, the setting data.crs, or a .prj file in its folder.`;
}

/** Assumption for readers of the data, who cannot declare a CRS. */
export function describeAssumedCrs({ as, crs, isDeclared }: AssumedCrs): string {
  if (isDeclared) return 'Unknown place: the data has local units, so it is not on maps of the Earth.';
  if (as === 'plane')
    return 'Unknown place: the data declares no coordinate reference system, so it is not on maps of the Earth.';
  const assumed = as === 'guess' ? `${crs} was guessed` : 'longitudes and latitudes (WGS 84) were assumed';
  return `The place is assumed: the data declares no coordinate reference system, and ${assumed}.`;
}

/** All warnings about a collection, for operators. */
export function describeWarning(collection: Collection): string | undefined {
  const { warning, file } = collection;
  const assumed = findAssumedCrs(collection);
  if (!assumed || assumed.isDeclared) return warning;
  return [explainAssumedCrs(assumed), warning, suggestDeclaredCrs(assumed, file)].filter(Boolean).join(' ');
}

/** Undefined if the CRS of the data is declared. */
export function findAssumedCrs(collection: Collection): AssumedCrs | undefined {
  return hasFeatures(collection) ? collection.assumedCrs : undefined;
}
