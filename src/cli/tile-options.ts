import type { Box } from '../core/geometry/box.js';
import { VECTOR_FORMATS } from '../core/http/media.js';
import { CommandError } from './command-error.js';

/** Options that `seed` and `export --tiles` share. */
export interface TileOptions {
  zooms?: string;
  bbox?: string;
  format?: string;
  encoding?: string;
  set?: string;
  concurrency?: number;
}

const USUAL_ZOOMS = '0-10';

/** `0-14` or `7`. */
export function readZooms(text = USUAL_ZOOMS): { minZoom: number; maxZoom: number } {
  const match = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(text);
  const minZoom = Number(match?.[1]);
  const maxZoom = Number(match?.[2] ?? match?.[1]);
  if (!match || minZoom > maxZoom)
    throw new CommandError(`--zooms: must be FIRST-LAST, for example 0-14, not '${text}'.`);
  return { minZoom, maxZoom };
}

/** Tile format from either option; empty without both. */
export function readFormat({ format, encoding }: Pick<TileOptions, 'format' | 'encoding'>): string {
  if (encoding === undefined) return format ?? '';
  if (!VECTOR_FORMATS.some(({ name }) => name === encoding))
    throw new CommandError(`--encoding: must be mvt or mlt, not '${encoding}'.`);
  if (format !== undefined && format !== encoding)
    throw new CommandError(
      `--encoding: ${encoding} cannot be combined with --format ${format}. Omit one of them.`,
    );
  return encoding;
}

/** `west,south,east,north` in degrees; west above east crosses the antimeridian. */
export function parseBoxOption(text: string | undefined): Box | undefined {
  if (text === undefined) return undefined;
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const [west, south, east, north] = numbers;
  const inside = [west, east].every((n) => Math.abs(n!) <= 180) && south! >= -90 && north! <= 90;
  if (numbers.length !== 4 || !inside || !(south! < north!))
    throw new CommandError(`--bbox: must be west,south,east,north in degrees, not '${text}'.`);
  return [west!, south!, east!, north!];
}
