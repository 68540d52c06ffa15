/**
 * Colour ramps by name, as equidistant colours from low to high. viridis, magma, inferno, plasma and cividis are from
 * matplotlib (CC0), turbo is from Google (Apache-2.0), and the others are from ColorBrewer (Apache-2.0, Cynthia
 * Brewer).
 */
const RAMPS = {
  viridis: '440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725',
  magma: '000004 140e36 3b0f70 641a80 8c2981 b73779 de4968 f7705c fe9f6d fecf92 fcfdbf',
  inferno: '000004 160b39 420a68 6a176e 932667 bc3754 dd513a f37819 fca50a f6d746 fcffa4',
  plasma: '0d0887 41049d 6a00a8 8f0da4 b12a90 cc4778 e16462 f2844b fca636 fcce25 f0f921',
  cividis: '00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838',
  turbo:
    '30123b 4145ab 4675ed 39a2fc 1bcfd4 24eca6 61fc6c a4fc3b d1e834 f3c63a fe9b2d f36315 d93806 b11901 7a0402',
  gray: '000000 ffffff',
  greens: 'f7fcf5 e5f5e0 c7e9c0 a1d99b 74c476 41ab5d 238b45 006d2c 00441b',
  blues: 'f7fbff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b',
  reds: 'fff5f0 fee0d2 fcbba1 fc9272 fb6a4a ef3b2c cb181d a50f15 67000d',
  ylgn: 'ffffe5 f7fcb9 d9f0a3 addd8e 78c679 41ab5d 238443 006837 004529',
  ylgnbu: 'ffffd9 edf8b1 c7e9b4 7fcdbb 41b6c4 1d91c0 225ea8 253494 081d58',
  ylorrd: 'ffffcc ffeda0 fed976 feb24c fd8d3c fc4e2a e31a1c bd0026 800026',
  rdylgn: 'a50026 d73027 f46d43 fdae61 fee08b ffffbf d9ef8b a6d96a 66bd63 1a9850 006837',
  rdylbu: 'a50026 d73027 f46d43 fdae61 fee090 ffffbf e0f3f8 abd9e9 74add1 4575b4 313695',
  rdbu: '67001f b2182b d6604d f4a582 fddbc7 f7f7f7 d1e5f0 92c5de 4393c3 2166ac 053061',
  spectral: '9e0142 d53e4f f46d43 fdae61 fee08b ffffbf e6f598 abdda4 66c2a5 3288bd 5e4fa2',
  brbg: '543005 8c510a bf812d dfc27d f6e8c3 f5f5f5 c7eae5 80cdc1 35978f 01665e 003c30',
} as const;

/** Red, green, blue, opacity; 0 to 255. */
export type Color = readonly [number, number, number, number];

/** Names of ramps; each with `_r` runs the other way. */
export const RAMP_NAMES: readonly string[] = Object.keys(RAMPS);

/** The colours of a ramp, in any case of its name; undefined when there is none. */
export function ramp(name: string): Color[] | undefined {
  const [, plain, reversed] = /^([a-z]+)(_r)?$/.exec(name.toLowerCase()) ?? [];
  if (plain === undefined || !Object.hasOwn(RAMPS, plain)) return undefined;
  const colors = RAMPS[plain as keyof typeof RAMPS].split(' ').map((hex) => parseColor(`#${hex}`)!);
  return reversed ? colors.reverse() : colors;
}

/** The colour at a position from 0 to 1 between equidistant colours. */
export function interpolateColor(colors: readonly Color[], at: number): Color {
  const place = Math.min(1, Math.max(0, at)) * (colors.length - 1);
  const low = Math.min(colors.length - 2, Math.floor(place));
  const [from, to] = [colors[Math.max(0, low)]!, colors[low + 1]!];
  return from.map((part, i) => Math.round(part + (to[i]! - part) * (place - low))) as unknown as Color;
}

/** `#rgb`, `#rrggbb`, `#rrggbbaa`, or an array of 3 or 4 bytes. */
export function parseColor(value: unknown): Color | undefined {
  if (Array.isArray(value)) {
    const isByte = (part: unknown) =>
      Number.isInteger(part) && (part as number) >= 0 && (part as number) <= 255;
    if ((value.length !== 3 && value.length !== 4) || !value.every(isByte)) return undefined;
    const [red, green, blue, opacity = 255] = value as number[];
    return [red!, green!, blue!, opacity];
  }
  if (typeof value !== 'string') return undefined;
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(value);
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})?$/i.exec(value);
  const parts = short?.slice(1).map((digit) => digit + digit) ?? long?.slice(1);
  if (!parts) return undefined;
  const [red, green, blue, opacity = 'ff'] = parts;
  return [red, green, blue, opacity].map((hex) => Number.parseInt(hex!, 16)) as unknown as Color;
}
