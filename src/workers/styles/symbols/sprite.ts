import sharp from 'sharp';
import type { Sprite } from '../../../core/styles/symbols.js';
import { signedDistances } from './coverage-distance.js';
import { fieldValue } from './distance.js';
import { type Icon, icons, writeIconSvg } from './icons.js';

/** Units of margin around an icon: the maximum width of a halo. */
const MARGIN = 3;
const COLUMNS = 16;
/** Pixels per unit of the image in which distances are measured. */
const FINE = 8;

interface Place {
  readonly icon: Icon;
  readonly x: number;
  readonly y: number;
  /** Pixels of the sheet, margin included. */
  readonly side: number;
}

/**
 * Task `symbols.sprite`: returns every icon as a signed distance field (SDF), which clients draw sharply at any size
 * and in any colour. In `sdf` images of MapLibre's sprites, alpha is 191 on the outline and falls by 32 per unit.
 */
export async function spriteSheet({ scale }: { scale: 1 | 2 }): Promise<Sprite> {
  const all = [...icons().values()];
  const cell = scale * Math.max(...all.map(computeSide));
  const width = COLUMNS * cell;
  const height = Math.ceil(all.length / COLUMNS) * cell;
  const sheet = Buffer.alloc(width * height * 4);
  const places = all.map((icon, i): Place => {
    return {
      icon,
      x: (i % COLUMNS) * cell,
      y: Math.floor(i / COLUMNS) * cell,
      side: scale * computeSide(icon),
    };
  });
  for (const place of places) drawInto(sheet, width, place, await loadDistances(place.icon), FINE / scale);
  const image = await sharp(sheet, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
  return { index: JSON.stringify(buildIndex(places, scale)), image: new Uint8Array(image) };
}

function computeSide({ side }: Icon): number {
  return side + 2 * MARGIN;
}

function buildIndex(places: readonly Place[], pixelRatio: number) {
  return Object.fromEntries(
    places.map(({ icon, x, y, side }) => [
      icon.name,
      { x, y, width: side, height: side, pixelRatio, sdf: true },
    ]),
  );
}

/** Returns signed distances in pixels of the fine image. */
async function loadDistances(icon: Icon): Promise<Float64Array> {
  const side = FINE * computeSide(icon);
  const svg = Buffer.from(writeIconSvg(icon, side, MARGIN));
  const coverage = await sharp(svg).ensureAlpha().extractChannel('alpha').raw().toBuffer();
  return signedDistances(coverage, side, side);
}

/** Each pixel of the sheet gets the distance at its centre: the average of the four fine pixels that meet there. */
function drawInto(sheet: Buffer, width: number, place: Place, distances: Float64Array, step: number): void {
  const fineSide = step * place.side;
  for (let y = 0; y < place.side; y++) {
    for (let x = 0; x < place.side; x++) {
      const at = Math.round((y + 0.5) * step) * fineSide + Math.round((x + 0.5) * step);
      const sum =
        distances[at]! + distances[at - 1]! + distances[at - fineSide]! + distances[at - fineSide - 1]!;
      sheet[((place.y + y) * width + place.x + x) * 4 + 3] = fieldValue(sum / 4 / FINE);
    }
  }
}
