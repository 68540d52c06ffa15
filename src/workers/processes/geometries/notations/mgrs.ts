import { formatDigits, WrongNotation } from './wrong-notation.js';
import { isNorth, type UtmZone } from './zones.js';

/** Squares of 100 km of the Military Grid Reference System (NGA.STND.0037), with letters for new ellipsoids. */

type XY = [x: number, y: number];

const SQUARE = 100_000;
const ROWS = 'ABCDEFGHJKLMNPQRSTUV';
const COLUMNS = ['ABCDEFGH', 'JKLMNPQR', 'STUVWXYZ'];
/** Letters of columns and rows around the poles, and the numbers of the first squares. */
const POLAR = {
  A: { columns: 'JKLPQRSTUXYZ', column: 8, rows: 'ABCDEFGHJKLMNPQRSTUVWXYZ', row: 8 },
  B: { columns: 'ABCFGHJKLPQR', column: 20, rows: 'ABCDEFGHJKLMNPQRSTUVWXYZ', row: 8 },
  Y: { columns: 'JKLPQRSTUXYZ', column: 8, rows: 'ABCDEFGHJKLMNP', row: 13 },
  Z: { columns: 'ABCFGHJ', column: 20, rows: 'ABCDEFGHJKLMNP', row: 13 },
};
const isPolar = (band: string): band is keyof typeof POLAR => Object.hasOwn(POLAR, band);

/** Where letters of a zone begin: rows are the same again after 2000 km. */
const lettersOf = ({ number, band }: UtmZone) =>
  isPolar(band)
    ? POLAR[band]
    : { columns: COLUMNS[(number - 1) % 3]!, column: 1, rows: ROWS, row: number % 2 === 1 ? 0 : -5 };

export interface MgrsForm {
  digits: number;
  rounds: boolean;
  spaces: boolean;
}

export function formatMgrs(zone: UtmZone, position: XY, { digits, rounds, spaces }: MgrsForm): string {
  const unit = SQUARE / 10 ** digits;
  const [x, y] = position.map((value) => (rounds ? Math.round(value / unit) * unit : value)) as XY;
  const { columns, column, rows, row } = lettersOf(zone);
  const [across, up] = [Math.floor(x / SQUARE + 1e-12), Math.floor(y / SQUARE + 1e-12)];
  const letter = columns[across - column];
  const rowLetter = isPolar(zone.band) ? rows[up - row] : rows[(up - row) % rows.length];
  if (letter === undefined || rowLetter === undefined) throw new WrongNotation();
  const numbers = [x - across * SQUARE, y - up * SQUARE].map((rest) =>
    digits === 0 ? '' : formatDigits(Math.max(0, rest), unit, { digits, rounds }),
  );
  const grid = `${zone.number === 0 ? '' : `${zone.number}`.padStart(2, '0')}${zone.band}`;
  return [grid, letter + rowLetter, ...numbers].filter(Boolean).join(spaces ? ' ' : '');
}

const PATTERN = /^(\d{1,2})?([A-HJ-NP-Z])([A-HJ-NP-Z])([A-HJ-NP-Z])(\d{0,20})$/;

/** The lower left corner of a cell; in UTM short of a multiple of 2000 km. */
export function zoneAndXY(text: string): { zone: UtmZone; position: XY } {
  const match = PATTERN.exec(text.toUpperCase().replaceAll(' ', ''));
  const numbers = match?.[5] ?? '';
  if (!match || numbers.length % 2 !== 0) throw new WrongNotation();
  const zone = { number: Number(match[1] ?? 0), band: match[2]! };
  if (zone.number > 60 || isPolar(zone.band) !== (zone.number === 0)) throw new WrongNotation();
  const { columns, column, rows, row } = lettersOf(zone);
  const [across, up] = [columns.indexOf(match[3]!), rows.indexOf(match[4]!)];
  if (across < 0 || up < 0) throw new WrongNotation();
  const half = numbers.length / 2;
  const scale = SQUARE / 10 ** half;
  const [dx, dy] = [numbers.slice(0, half), numbers.slice(half)].map((one) => Number(one) * scale) as XY;
  return { zone, position: [(across + column) * SQUARE + dx, (up + row) * SQUARE + dy] };
}

/** Northings of UTM after which letters of rows begin anew. */
export const ROW_CYCLE = ROWS.length * SQUARE;

/** `05S 750155 4377006`: band, or hemisphere. Metres are cut off. */
export function formatUtm(
  zone: UtmZone,
  [x, y]: XY,
  { spaces, hemispheres }: { spaces: boolean; hemispheres: boolean },
): string {
  if (zone.number === 0) throw new WrongNotation();
  const letter = hemispheres ? (isNorth(zone) ? 'N' : 'S') : zone.band;
  const number = `${zone.number}`.padStart(2, '0');
  const [easting, northing] = [x, y].map((value) => `${Math.floor(value + 1e-6)}`) as [string, string];
  return [`${number}${letter}`, easting.padStart(6, '0'), northing.padStart(7, '0')].join(spaces ? ' ' : '');
}

const UTM = /^ *(\d{1,2}) ?([C-HJ-NP-X]) ?(\d{6}(?:\.\d{0,9})?) ?(\d{7}(?:\.\d{0,9})?) *$/;

export function parseUtm(text: string, hemispheres: boolean): { zone: UtmZone; position: XY } {
  const match = UTM.exec(text.toUpperCase());
  const number = Number(match?.[1] ?? 0);
  if (!match || number < 1 || number > 60) throw new WrongNotation();
  if (hemispheres && !'NS'.includes(match[2]!)) throw new WrongNotation();
  // Of hemispheres S is the south; of bands it is north of the equator.
  const band = hemispheres && match[2] === 'S' ? 'M' : match[2]!;
  return { zone: { number, band }, position: [Number(match[3]), Number(match[4])] };
}
