import { WrongNotation } from './wrong-notation.js';

/** Degrees, whole or with minutes and seconds: latitude first, with the letter of the hemisphere. */

export type LonLat = [lon: number, lat: number];

/** How many numbers an angle has. */
const PARTS = { DD: 1, DDM: 2, DMS: 3 } as const;
export type AngleNotation = keyof typeof PARTS;

export function formatAngles([lon, lat]: LonLat, name: AngleNotation, decimals: number): string {
  const latitude = angle(Math.abs(lat), { parts: PARTS[name], decimals, width: 2 });
  const longitude = angle(Math.abs(lon), { parts: PARTS[name], decimals, width: 3 });
  return `${latitude}${lat < 0 ? 'S' : 'N'} ${longitude}${lon < 0 ? 'W' : 'E'}`;
}

interface Form {
  parts: number;
  decimals: number;
  /** Digits of whole degrees. */
  width: number;
}

function angle(degrees: number, { parts, decimals, width }: Form): string {
  // Rounded in units of the last decimal, so that no 60 seconds are written.
  const scale = 10 ** decimals;
  let rest = Math.round(degrees * 60 ** (parts - 1) * scale) / scale;
  const numbers: string[] = [];
  for (let part = parts - 1; part > 0; part--) {
    const unit = 60 ** part;
    const whole = Math.floor(rest / unit);
    numbers.push(`${whole}`.padStart(numbers.length === 0 ? width : 2, '0'));
    rest -= whole * unit;
  }
  const digits = numbers.length === 0 ? width : 2;
  return [...numbers, rest.toFixed(decimals).padStart(digits + (decimals > 0 ? decimals + 1 : 0), '0')].join(
    ' ',
  );
}

const NUMBER = String.raw`(\d{1,3}(?:\.\d{0,20})?)`;
const LETTER = '([NSEW])?';

/** Two angles with a letter before or after each, or a sign; latitude first unless the letters say otherwise. */
const patternOf = (parts: number) => {
  const one = `${LETTER} *([+-])? *${Array.from({ length: parts }, () => NUMBER).join(' +')} *${LETTER}`;
  return new RegExp(`^ *${one} *[ ,] *${one} *$`);
};
const PATTERNS = { DD: patternOf(1), DDM: patternOf(2), DMS: patternOf(3) };

export function parseAngles(text: string, name: AngleNotation): LonLat {
  const match = PATTERNS[name].exec(text.toUpperCase().replaceAll(/[°'"′″:_]/g, ' '));
  if (!match) throw new WrongNotation();
  const size = PARTS[name] + 3;
  const [first, second] = [match.slice(1, 1 + size), match.slice(1 + size)].map(signedAngle);
  const isSwapped = 'EW'.includes(first!.letter || 'N') || 'NS'.includes(second!.letter || 'E');
  const [lat, lon] = isSwapped ? [second!, first!] : [first!, second!];
  if ('EW'.includes(lat.letter || 'N') || 'NS'.includes(lon.letter || 'E')) throw new WrongNotation();
  if (Math.abs(lat.degrees) > 90 || Math.abs(lon.degrees) > 180) throw new WrongNotation();
  return [lon.degrees, lat.degrees];
}

function signedAngle([before, sign, ...rest]: (string | undefined)[]) {
  const after = rest.pop();
  if ((before && after) || ((before || after) && sign)) throw new WrongNotation();
  const [degrees, ...fractions] = rest.map(Number) as [number, ...number[]];
  if (fractions.some((value) => value >= 60)) throw new WrongNotation();
  const letter = before ?? after ?? '';
  const sum = fractions.reduce((total, value, i) => total + value / 60 ** (i + 1), degrees);
  return { letter, degrees: sign === '-' || letter === 'S' || letter === 'W' ? -sum : sum };
}
