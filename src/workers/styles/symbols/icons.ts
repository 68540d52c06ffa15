import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { MARK_SIDE, MARKS } from '../../../core/styles/marks.js';
import type { IconOutline } from '../../../core/styles/symbols.js';

/** One icon: an outline in a square, filled by the nonzero rule. */
export interface Icon {
  readonly name: string;
  /** Width and height of its box; pixels at size 1. */
  readonly side: number;
  /** SVG path data. */
  readonly path: string;
}

const MAKI_SIDE = 15;
const MAKI = join(dirname(createRequire(import.meta.url).resolve('@mapbox/maki/package.json')), 'icons');
let table: ReadonlyMap<string, Icon> | undefined;

/** Returns the icons that styles can name in `icon-image`: the Maki icons and plain marks. They are read once. */
export function icons(): ReadonlyMap<string, Icon> {
  table ??= new Map([...makiIcons(), ...marks()].map((icon) => [icon.name, icon]));
  return table;
}

function makiIcons(): Icon[] {
  const files = readdirSync(MAKI).filter((file) => file.endsWith('.svg'));
  return files.sort().map((file) => {
    const [, path = ''] = /<path\b[^>]*?\sd="([^"]+)"/.exec(readFileSync(join(MAKI, file), 'utf8')) ?? [];
    return { name: file.slice(0, -4), side: MAKI_SIDE, path: path.replace(/(&#x[0-9A-F];|\s)+/gi, ' ') };
  });
}

function marks(): Icon[] {
  return Object.entries(MARKS).map(([name, path]) => ({ name, side: MARK_SIDE, path }));
}

/** Returns the outlines of the named icons that exist. */
export function listIconOutlines(names: readonly string[]): Record<string, IconOutline> {
  const matches = names.map((name) => icons().get(name)).filter((icon) => icon !== undefined);
  return Object.fromEntries(matches.map(({ name, path, side }) => [name, { path, side }]));
}

/**
 * Returns an icon as an SVG document of `side` pixels, all black, so that the renderer can colour it. Undefined for
 * an unknown name.
 */
export function iconSvg(name: string): string | undefined {
  const icon = icons().get(name);
  return icon && writeIconSvg(icon, icon.side);
}

/** The icon at `pixels` wide, with `margin` units of its box around it. */
export function writeIconSvg({ side, path }: Icon, pixels: number, margin = 0): string {
  const all = side + 2 * margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="${-margin} ${-margin} ${all} ${all}"><path d="${path}"/></svg>`;
}
