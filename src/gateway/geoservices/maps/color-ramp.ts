import { badParameter } from '../../../core/errors/errors.js';
import { type Members, readObjectMember, readObjectsMember, requireObject } from '../members.js';

/** Colours along a ramp of Esri. Each reader throws 400 naming `classificationDef`. */

/** Red, green, blue and alpha, 0 to 255. */
export type Rgba = readonly [number, number, number, number];
type Triple = readonly [number, number, number];

const PARAMETER = 'classificationDef';
const MAX_PARTS = 20;

/** A colour space with three coordinates. The one named `hue` is an angle in degrees. */
interface Space {
  readonly hue?: 0 | 2;
  from(rgb: Triple): Triple;
  to(place: Triple): Triple;
}

type Ramp = (at: number) => Rgba;

/** One colour for each class, from one end of the ramp to the other. */
export function rampColors(ramp: Members, count: number): Rgba[] {
  const color = readRamp(ramp);
  return Array.from({ length: count }, (_, i) => color(count === 1 ? 0 : i / (count - 1)));
}

function readRamp(ramp: Members): Ramp {
  if (ramp['type'] === 'algorithmic') return algorithmic(ramp);
  if (ramp['type'] !== 'multipart')
    throw badParameter(PARAMETER, 'must have a colorRamp of the type algorithmic or multipart');
  const parts = (readObjectsMember({ [PARAMETER]: ramp['colorRamps'] }, PARAMETER, MAX_PARTS) ?? []).map(
    algorithmic,
  );
  if (parts.length === 0) throw badParameter(PARAMETER, 'must have colour ramps in colorRamps');
  return (at) => {
    const part = Math.min(Math.floor(at * parts.length), parts.length - 1);
    return parts[part]!(at * parts.length - part);
  };
}

function algorithmic(ramp: Members): Ramp {
  const name = ramp['algorithm'] ?? 'esriCIELabAlgorithm';
  const space = typeof name === 'string' && Object.hasOwn(SPACES, name) ? SPACES[name] : undefined;
  if (!space) throw badParameter(PARAMETER, `must have the algorithm ${Object.keys(SPACES).join(' or ')}`);
  const [from, to] = [parseRampColor(ramp['fromColor']), parseRampColor(ramp['toColor'])];
  const [first, last] = [space.from(buildRgb(from)), space.from(buildRgb(to))];
  return (at) => {
    const place = [0, 1, 2].map((i) => {
      const step = last[i]! - first[i]!;
      // The shorter way around.
      return first[i]! + at * (i === space.hue ? step - 360 * Math.round(step / 360) : step);
    });
    const bytes = space.to(place as unknown as Triple).map(computeByte);
    return [...bytes, computeByte(from[3] + at * (to[3] - from[3]))] as unknown as Rgba;
  };
}

const computeByte = (number: number) => Math.min(255, Math.max(0, Math.round(number)));
const buildRgb = ([red, green, blue]: Rgba): Triple => [red, green, blue];

function parseRampColor(value: unknown): Rgba {
  const isByte = (one: unknown) => Number.isInteger(one) && (one as number) >= 0 && (one as number) <= 255;
  if (!Array.isArray(value) || value.length < 3 || value.length > 4 || !value.every(isByte))
    throw badParameter(PARAMETER, 'must have colours of [red, green, blue, alpha], each from 0 to 255');
  return [value[0], value[1], value[2], value[3] ?? 255];
}

const HSV: Space = {
  hue: 0,
  from([red, green, blue]) {
    const most = Math.max(red, green, blue);
    const spread = most - Math.min(red, green, blue);
    if (spread === 0) return [0, 0, most];
    const sector =
      most === red
        ? (green - blue) / spread
        : most === green
          ? 2 + (blue - red) / spread
          : 4 + (red - green) / spread;
    return [(sector * 60 + 360) % 360, spread / most, most];
  },
  to([hue, saturation, most]) {
    const channel = (shift: number) => {
      const sector = (shift + hue / 60 + 12) % 6;
      return most * (1 - saturation * Math.max(0, Math.min(sector, 4 - sector, 1)));
    };
    return [channel(5), channel(3), channel(1)];
  },
};

/** White point D65 of sRGB. */
const WHITE: Triple = [0.95047, 1, 1.08883];
const EDGE = 6 / 29;

/** CIE 1976 L*a*b*. */
const LAB: Space = {
  from(rgb) {
    const [red, green, blue] = rgb.map((byte) => {
      const share = byte / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    }) as unknown as Triple;
    const [x, y, z] = [
      0.4124564 * red + 0.3575761 * green + 0.1804375 * blue,
      0.2126729 * red + 0.7151522 * green + 0.072175 * blue,
      0.0193339 * red + 0.119192 * green + 0.9503041 * blue,
    ].map((one, i) => {
      const share = one / WHITE[i]!;
      return share > EDGE ** 3 ? Math.cbrt(share) : share / (3 * EDGE ** 2) + 4 / 29;
    }) as unknown as Triple;
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  },
  to([lightness, a, b]) {
    const middle = (lightness + 16) / 116;
    const [x, y, z] = [middle + a / 500, middle, middle - b / 200].map(
      (one, i) => WHITE[i]! * (one > EDGE ? one ** 3 : 3 * EDGE ** 2 * (one - 4 / 29)),
    ) as unknown as Triple;
    return [
      3.2404542 * x - 1.5371385 * y - 0.4985314 * z,
      -0.969266 * x + 1.8760108 * y + 0.041556 * z,
      0.0556434 * x - 0.2040259 * y + 1.0572252 * z,
    ].map(
      (one) => 255 * (one <= 0.0031308 ? 12.92 * one : 1.055 * one ** (1 / 2.4) - 0.055),
    ) as unknown as Triple;
  },
};

/** Its polar form. */
const LCH: Space = {
  hue: 2,
  from(rgb) {
    const [lightness, a, b] = LAB.from(rgb);
    return [lightness, Math.hypot(a, b), (Math.atan2(b, a) * 180) / Math.PI];
  },
  to([lightness, chroma, hue]) {
    const angle = (hue * Math.PI) / 180;
    return LAB.to([lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)]);
  },
};

const SPACES: Readonly<Record<string, Space>> = {
  esriHSVAlgorithm: HSV,
  esriCIELabAlgorithm: LAB,
  esriLabLChAlgorithm: LCH,
};

/** A ramp where the definition has one. */
export function rampIn(definition: Members): Members | undefined {
  return readObjectMember({ [PARAMETER]: definition['colorRamp'] }, PARAMETER);
}

const SYMBOLS = ['esriSMS', 'esriSLS', 'esriSFS'];

/** The symbol that all classes have but for its colour. */
export function baseSymbolIn(definition: Members, fallback: Members): Members {
  const value = definition['baseSymbol'];
  if (value === undefined || value === null) return fallback;
  const symbol = requireObject(PARAMETER, value);
  if (!SYMBOLS.includes(symbol['type'] as string))
    throw badParameter(PARAMETER, `must have a baseSymbol of the type ${SYMBOLS.join(' or ')}`);
  return symbol;
}
