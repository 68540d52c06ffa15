import type { AssumedCrs } from '../../../core/geometry/stated-crs.js';
import type { VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import type { Guess } from './guess-crs.js';

/** The assumption about the CRS of a layer. Undefined if the file declares it, also by names of columns. */
export function findAssumption(
  { takenFor, extent }: Pick<VectorLayerInfo, 'takenFor' | 'extent'>,
  { namesDegrees = false }: { namesDegrees?: boolean } = {},
): AssumedCrs | undefined {
  if (takenFor === undefined || (takenFor === 'degrees' && namesDegrees)) return undefined;
  const can = takenFor === 'plane' ? 'cannot' : 'can';
  return { as: takenFor, ...(extent && { because: `${formatBoxSides(extent)} ${can} be degrees` }) };
}

export function createGuessAssumption({ crs, reason }: Guess): AssumedCrs {
  return { as: 'guess', crs, because: reason };
}

export function formatBoxSides([minx, miny, maxx, maxy]: readonly [number, number, number, number]): string {
  return `x ${shorten(minx)} to ${shorten(maxx)}, y ${shorten(miny)} to ${shorten(maxy)}`;
}

/** A coordinate without the digits that say nothing about a place: millimetres, or 0.1 m in degrees. */
const shorten = (value: number) => Number(value.toPrecision(9));
