import type { LonLat } from './angles.js';
import { formatDigits, WrongNotation } from './wrong-notation.js';

/** Grids of degrees: World Geographic Reference System, and Global Area Reference System. */

/** Without I and O. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ';
const MINUTES = 60;
const QUAD = 15;

interface Precision {
  digits: number;
  rounds: boolean;
}

/** A letter of 15 degrees and one of a degree for each axis, then minutes with decimals. */
export function formatGeoref(lonLat: LonLat, { digits, rounds }: Precision): string {
  const unit = 10 ** (2 - digits);
  // What rounds to the next degree is in it.
  const [east, north] = [eastOf(lonLat), northOf(lonLat)].map((degrees, i) => {
    const minutes = degrees * MINUTES;
    const most = (i === 0 ? 360 : 180) * MINUTES - unit;
    return rounds && digits > 0 ? Math.min(Math.round(minutes / unit) * unit, most) : minutes;
  }) as [number, number];
  const letters = [east, north].map((minutes) => Math.floor(minutes / MINUTES + 1e-12));
  const squares = letters.map((degree) => LETTERS[Math.floor(degree / QUAD)]!);
  const cells = letters.map((degree) => LETTERS[degree % QUAD]!);
  const rest = [east, north].map((minutes, i) => Math.max(0, minutes - letters[i]! * MINUTES));
  const numbers = digits === 0 ? [] : rest.map((minutes) => formatDigits(minutes, unit, { digits, rounds }));
  return [...squares, ...cells, ...numbers].join('');
}

export function parseGeoref(text: string): LonLat {
  const match = /^([A-HJ-NP-Z])([A-HJ-M])([A-HJ-NP-Q])([A-HJ-NP-Q])(\d*)$/.exec(compact(text));
  const numbers = match?.[5] ?? '';
  const half = numbers.length / 2;
  if (!match || !Number.isInteger(half) || half === 1 || half > 10) throw new WrongNotation();
  const [square, row, cell, cellRow] = match.slice(1, 5).map((letter) => LETTERS.indexOf(letter!)) as [
    number,
    number,
    number,
    number,
  ];
  const minutes = [numbers.slice(0, half), numbers.slice(half)].map((one) => Number(one) / 10 ** (half - 2));
  if (half > 0 && minutes.some((one) => one >= MINUTES)) throw new WrongNotation();
  const [east, north] = half === 0 ? [0, 0] : (minutes as [number, number]);
  return [square * QUAD + cell + east / MINUTES - 180, row * QUAD + cellRow + north / MINUTES - 90];
}

/** Cells of half a degree, quadrants of them, and ninths of these. */
const [CELL, QUADRANT, KEY] = [1 / 2, 1 / 4, 1 / 12];
const ROUNDING = 1e-12;

export function formatGars(lonLat: LonLat): string {
  const [east, north] = [eastOf(lonLat), northOf(lonLat)];
  const [column, row] = [index(east, CELL), index(north, CELL)];
  const [dx, dy] = [east - column * CELL, north - row * CELL];
  const [right, up] = [index(dx, QUADRANT), index(dy, QUADRANT)];
  const [keyColumn, keyRow] = [index(dx - right * QUADRANT, KEY), index(dy - up * QUADRANT, KEY)];
  const letters = LETTERS[Math.floor(row / LETTERS.length)]! + LETTERS[row % LETTERS.length]!;
  // Both are numbered from the upper left.
  const quadrant = 1 + right + 2 * (1 - up);
  const key = 1 + keyColumn + 3 * (2 - keyRow);
  return `${`${column + 1}`.padStart(3, '0')}${letters}${quadrant}${key}`;
}

const index = (value: number, size: number) => Math.max(0, Math.floor(value / size + ROUNDING));

export function parseGars(text: string, { centre }: { centre: boolean }): LonLat {
  const match = /^(\d{3})([A-HJ-NP-Q])([A-HJ-NP-Z])(?:([1-4])([1-9])?)?$/.exec(compact(text));
  const column = Number(match?.[1] ?? 0) - 1;
  if (!match || column < 0 || column > 719) throw new WrongNotation();
  const row = LETTERS.indexOf(match[2]!) * LETTERS.length + LETTERS.indexOf(match[3]!);
  if (row > 359) throw new WrongNotation();
  let [lon, lat, size] = [column * CELL - 180, row * CELL - 90, CELL];
  if (match[4]) {
    const quadrant = Number(match[4]) - 1;
    size = QUADRANT;
    lon += (quadrant % 2) * size;
    lat += (1 - Math.floor(quadrant / 2)) * size;
  }
  if (match[5]) {
    const key = Number(match[5]) - 1;
    size = KEY;
    lon += (key % 3) * size;
    lat += (2 - Math.floor(key / 3)) * size;
  }
  return centre ? [lon + size / 2, lat + size / 2] : [lon, lat];
}

const compact = (text: string) => text.toUpperCase().replaceAll(' ', '');
/** Degrees from the antimeridian and the south pole; the last ones belong to the last cells. */
const eastOf = ([lon]: LonLat) => (lon >= 180 ? 360 - ROUNDING * 360 : lon + 180);
const northOf = ([, lat]: LonLat) => (lat >= 90 ? 180 - ROUNDING * 360 : lat + 90);
