import { basename } from 'node:path';
import type { VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';

/** Note for users about the CRS of data that declares none. */

export function planeNote({ extent }: VectorLayerInfo, file: string): string {
  const sides = extent ? `, and ${formatBoxSides(extent)} cannot be degrees` : '';
  return `No coordinate reference system is declared${sides}. The collection is drawn in a local CRS and is not on maps of the Earth. ${howToState(file)}`;
}

export function guessNote(crs: string, reason: string, file: string): string {
  return `No coordinate reference system is declared. ${crs} was guessed, because ${reason}. If that is wrong: ${howToState(file, 'declare it')}`;
}

export function formatBoxSides([minx, miny, maxx, maxy]: readonly [number, number, number, number]): string {
  return `x ${minx} to ${maxx}, y ${miny} to ${maxy}`;
}

function howToState(file: string, what = 'Declare it'): string {
  const name = basename(file);
  return `${what} with --crs ${/[\s'"#]/.test(name) ? JSON.stringify(`${name}=EPSG:n`) : `${name}=EPSG:n`}, the setting data.crs, or a .prj file in its folder.`;
}
