import { Untranslatable } from './export/untranslatable.js';
import { shortenName } from './report.js';

/** A colour of SVG as MapLibre has it: `#rrggbb`, or a word that both know. @throws Untranslatable */
export function parseSldColor(text: string): string {
  const value = text.trim().toLowerCase();
  if (/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/.test(value)) return value;
  // GeoServer's own form of numbers.
  const hexadecimal = /^0x([0-9a-f]{6})$/.exec(value);
  if (hexadecimal) return `#${hexadecimal[1]}`;
  if (/^rgba?\([\d.,%\s]{1,60}\)$/.test(value) || /^[a-z]{3,20}$/.test(value)) return value;
  throw new Untranslatable('Color', `${shortenName(text)} is not a colour.`);
}

/** `#rrggbb` with an opacity that only a colour can carry. */
export function withOpacity(color: string, opacity: number): string {
  const [, red, green, blue] = /^#(..)(..)(..)$/.exec(longHex(color)) ?? [];
  if (blue === undefined || opacity >= 1) return color;
  const parts = [red, green, blue].map((hex) => Number.parseInt(hex!, 16));
  return `rgba(${parts.join(',')},${Math.max(0, opacity)})`;
}

function longHex(color: string): string {
  return /^#...$/.test(color) ? color.replace(/[^#]/g, '$&$&') : color;
}
