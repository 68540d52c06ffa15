import type { Point } from 'geojson';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Notation, NotationName } from '../../../core/geometry/coordinate-notations.js';
import { transformPoints } from '../../../native/index.js';
import { formatPositions, parsePositions } from '../../../native/notations.js';

/** Conversion of positions to text and back. Grids are on WGS 84. */

const LON_LAT = 'OGC:CRS84';

/** The text of each position of a CRS. Throws `invalid-input`. */
export function formatNotations(points: readonly Point[], crs: string, notation: Notation): string[] {
  const lonLats = new Float64Array(points.flatMap(({ coordinates: [x, y] }) => [x!, y!]));
  transform(lonLats, crs, LON_LAT);
  for (let i = 0; i < points.length; i++)
    if (!(Math.abs(lonLats[2 * i]!) <= 180 && Math.abs(lonLats[2 * i + 1]!) <= 90))
      throw fail('coordinates', i, 'has no position on Earth');
  return formatPositions(lonLats, notation).map((text, i) => {
    if (text === null) throw fail('coordinates', i, `has no ${notation.name}`);
    return text;
  });
}

/** The positions that strings describe, in a CRS. Throws `invalid-input`. */
export function parseNotations(strings: readonly string[], crs: string, notation: Notation): Point[] {
  const normalise = NORMALISERS[notation.name];
  const positions = parsePositions(
    strings.map((text) => normalise(text, notation)),
    notation,
  );
  for (let i = 0; i < strings.length; i++)
    if (Number.isNaN(positions[2 * i])) throw fail('strings', i, `is not a ${notation.name}`);
  transform(positions, LON_LAT, crs);
  return strings.map((_, i) => {
    const coordinates = [...positions.subarray(2 * i, 2 * i + 2)];
    if (!coordinates.every(Number.isFinite)) throw fail('strings', i, 'is outside the area of sr');
    return { type: 'Point', coordinates };
  });
}

type Normalise = (text: string, notation: Notation) => string;

const removeSpaces: Normalise = (text) => text.replaceAll(' ', '');

const NORMALISERS: Record<NotationName, Normalise> = {
  MGRS: removeSpaces,
  USNG: removeSpaces,
  UTM: normaliseUtm,
  GeoRef: removeSpaces,
  GARS: removeSpaces,
  DD: createAngleNormaliser(1),
  DDM: createAngleNormaliser(2),
  DMS: createAngleNormaliser(3),
};

const UTM = /^ *(\d{1,2}) ?([C-HJ-NP-X]) ?(\d{6}(?:\.\d{0,9})?) ?(\d{7}(?:\.\d{0,9})?) *$/;

/** The letter is a band, or the hemisphere: S is a band of the north. */
function normaliseUtm(text: string, { hemispheres }: Notation): string {
  const [, zone, letter, easting, northing] = UTM.exec(text.toUpperCase()) ?? [];
  if (!letter || (hemispheres && !'NS'.includes(letter))) return '';
  const band = hemispheres && letter === 'S' ? 'M' : letter;
  return `${zone}${band}:${easting}:${northing}`;
}

/** Two angles of so many numbers, with a letter before or after each, or a sign. */
function createAngleNormaliser(parts: number): Normalise {
  const numbers = Array.from({ length: parts }, () => String.raw`\d{1,3}(?:\.\d{0,20})?`).join(' +');
  const one = `([NSEW] *${numbers}|${numbers} *[NSEW]|[+-]? *${numbers})`;
  const pattern = new RegExp(`^ *${one} *[ ,] *${one} *$`);
  return (text) => {
    const [, first, second] = pattern.exec(text.toUpperCase().replaceAll(/[°'"′″:_]/g, ' ')) ?? [];
    return first && second ? [first, second].map(joinNumbers).join() : '';
  };
}

const joinNumbers = (angle: string) =>
  angle
    .replace(/([NSEW+-]) +/, '$1')
    .replace(/ +(?=[NSEW])/, '')
    .trim()
    .replaceAll(/ +/g, ':');

function transform(positions: Float64Array, from: string, to: string): void {
  try {
    transformPoints(positions, from, to);
  } catch (error) {
    throw new TaskFailure('invalid-input', `sr: ${(error as Error).message}`);
  }
}

const fail = (parameter: string, i: number, why: string) =>
  new TaskFailure('invalid-input', `${parameter}: number ${i} ${why}.`);
