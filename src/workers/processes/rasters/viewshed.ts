/**
 * Viewshed by reference planes (Wang, Robinson and White, 2000). The minimum visible height of a pixel follows from
 * its two neighbours towards the observer. gdal-async does not have a viewshed, and the server does not use GDAL's
 * programs. Tests compare the result with GDAL's program.
 */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import type { GdalCrs } from '../../gdal/crs.js';
import type { Dataset } from '../../gdal/gdal.js';
import { type GeoTransform, getGeoreference } from '../../rasters/georeference.js';
import { type BandShape, getRasterShape, writeBlocks } from '../../rasters/pixels/blocks.js';
import { type PixelBox, readWindowValues } from '../../rasters/pixels/values.js';
import { computePixelPosition, invertGeoTransform, listLongitudeShifts } from './zones.js';

type ViewshedProcess = Extract<RasterProcess, { kind: 'viewshed' }>;

const VISIBLE = 1;
const HIDDEN = 0;
/** Beyond the greatest distance. */
const BEYOND = 255;
const BANDS: BandShape = { count: 1, type: 'Byte', nodata: BEYOND, overviews: 'NEAREST' };

/** Height that hides no pixel and is not visible. */
const ABYSS = -1e9;
/** Number of rows in one read. */
const STRIP = 64;
/** Share of the work after which only the file has to be written. */
const LOOKED = 0.7;

/**
 * Returns 1 for visible pixels and 0 for hidden pixels. Only pixels within the maximum distance can be visible, if
 * there is one.
 */
export async function viewshed(
  { dataset, band }: { dataset: Dataset; band: number },
  process: ViewshedProcess,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const { geoTransform, northUp, crs } = getGeoreference(dataset);
  if (!northUp) throw new TaskFailure('invalid-input', 'The raster is rotated. Reproject it first.');
  const place = pixelOn(dataset, process.x, process.y);
  const window = windowAround(dataset, geoTransform, place, process.maxDistance);
  const view = new View(dataset.bands.get(band), window, place, {
    ...process,
    pixel: [geoTransform[1], geoTransform[5]],
    bend: process.curvature / (2 * computeRadius(crs)),
  });
  const visibility = await view.look((fraction) => onProgress(fraction * LOOKED));
  const [x, dx, , y, , dy] = geoTransform;
  const corner: GeoTransform = [x + window.column * dx, dx, 0, y + window.row * dy, 0, dy];
  const shape = {
    ...getRasterShape(dataset),
    width: window.width,
    height: window.height,
    geoTransform: corner,
  };
  await writeBlocks(
    shape,
    BANDS,
    part,
    async (box) => [cut(visibility, window.width, box)],
    (fraction) => onProgress(LOOKED + fraction * (1 - LOOKED)),
  );
}

/** The pixel of a position, whichever way the raster counts its longitude. Outside of the raster if there is none. */
function pixelOn(dataset: Dataset, x: number, y: number): [column: number, row: number] {
  const transform = invertGeoTransform(getGeoreference(dataset).geoTransform);
  const places = listLongitudeShifts(dataset).map((shift) =>
    computePixelPosition(transform, x + shift, y).map(Math.floor),
  );
  const isOn = ([column]: number[]) => column! >= 0 && column! < dataset.rasterSize.x;
  return (places.find(isOn) ?? places[0]) as [number, number];
}

/** Greatest radius of the Earth of a CRS. */
function computeRadius({ srs }: GdalCrs): number {
  const radius = Number(srs.getAttrValue('SPHEROID', 1));
  return Number.isFinite(radius) && radius > 0 ? radius : WGS84_RADIUS;
}
const WGS84_RADIUS = 6_378_137;

/** Fails with `invalid-input` for a place that is not on the raster, and with `too-large`. */
function windowAround(
  { rasterSize: { x: columns, y: rows } }: Dataset,
  [, dx, , , , dy]: GeoTransform,
  [column, row]: [number, number],
  distance: number | undefined,
): PixelBox {
  if (!(column >= 0 && row >= 0 && column < columns && row < rows))
    throw new TaskFailure('invalid-input', 'The observer is not on the raster.');
  const [across, along] =
    distance === undefined
      ? [columns, rows]
      : ([distance / dx, distance / -dy].map(Math.ceil) as [number, number]);
  const [left, top] = [Math.max(0, column - across), Math.max(0, row - along)];
  const width = Math.min(columns, column + across + 1) - left;
  const height = Math.min(rows, row + along + 1) - top;
  if (width * height > PROCESS_LIMITS.viewshedPixels)
    throw new TaskFailure(
      'too-large',
      `A viewshed can have at most ${PROCESS_LIMITS.viewshedPixels} pixels. Use a smaller distance.`,
    );
  return { column: left, row: top, width, height };
}

function cut(visibility: Uint8Array, stride: number, { column, row, width, height }: PixelBox): Float64Array {
  const out = new Float64Array(width * height);
  for (let i = 0; i < height; i++)
    out.set(visibility.subarray((row + i) * stride + column, (row + i) * stride + column + width), i * width);
  return out.map((value) => (value === BEYOND ? Number.NaN : value));
}

interface Sight extends Pick<ViewshedProcess, 'observerHeight' | 'targetHeight' | 'maxDistance'> {
  /** Sides of a pixel. */
  pixel: [number, number];
  /** Drop of the ground below the horizontal plane, by squared distance. */
  bend: number;
}

/** View from one pixel. Heights are relative to the eye. */
class View {
  readonly #visibility: Uint8Array;
  /** Column and row of the observer in the window. */
  readonly #x: number;
  readonly #y: number;
  #eye = 0;

  constructor(
    private readonly band: RasterBand,
    private readonly window: PixelBox,
    [column, row]: readonly [number, number],
    private readonly sight: Sight,
  ) {
    this.#visibility = new Uint8Array(window.width * window.height);
    this.#x = column - window.column;
    this.#y = row - window.row;
  }

  /** Whether each pixel of the window can be seen. */
  async look(onProgress: (fraction: number) => void): Promise<Uint8Array> {
    const { height } = this.window;
    const [first] = await this.#rows(this.#y, 1);
    const ground = first![this.#x]!;
    if (Number.isNaN(ground))
      throw new TaskFailure('invalid-input', 'The raster has no height where the observer is.');
    this.#eye = ground + this.sight.observerHeight;
    const middle = this.#fromEye(first!, this.#y);
    this.#lookAlong(middle);
    let done = 1;
    for (const step of [-1, 1]) {
      let last = middle;
      for (let from = this.#y + step; from >= 0 && from < height; from += step * STRIP) {
        const count = Math.min(STRIP, step < 0 ? from + 1 : height - from);
        const strip = await this.#rows(step < 0 ? from - count + 1 : from, count);
        if (step < 0) strip.reverse();
        for (const [i, row] of strip.entries()) {
          const y = from + i * step;
          const line = this.#fromEye(row, y);
          this.#lookAcross(line, last, y);
          last = line;
        }
        done += count;
        onProgress(done / height);
      }
    }
    return this.#visibility;
  }

  async #rows(row: number, count: number): Promise<Float64Array[]> {
    const { column, width } = this.window;
    const box = { column, row: this.window.row + row, width, height: count };
    const values = await readWindowValues(this.band, box);
    return Array.from({ length: count }, (_, i) => values.subarray(i * width, (i + 1) * width));
  }

  /** Heights from the eye, with the bend of the Earth. */
  #fromEye(heights: Float64Array, y: number): Float64Array {
    const { pixel, bend } = this.sight;
    return heights.map((height, x) => {
      if (Number.isNaN(height)) return ABYSS;
      const distance = ((x - this.#x) * pixel[0]) ** 2 + ((y - this.#y) * pixel[1]) ** 2;
      return height - bend * distance - this.#eye;
    });
  }

  /** Along the row of the observer. */
  #lookAlong(line: Float64Array): void {
    this.#judge(line, this.#x, this.#y, -Infinity);
    for (const step of [-1, 1]) {
      for (let x = this.#x + step; x >= 0 && x < line.length; x += step) {
        const away = Math.abs(x - this.#x);
        this.#judge(line, x, this.#y, away === 1 ? -Infinity : straight(away, line[x - step]!));
      }
    }
  }

  /** Along another row; `last` is the one before it, towards the observer. */
  #lookAcross(line: Float64Array, last: Float64Array, y: number): void {
    const down = Math.abs(y - this.#y);
    this.#judge(line, this.#x, y, down === 1 ? -Infinity : straight(down, last[this.#x]!));
    for (const step of [-1, 1]) {
      for (let x = this.#x + step; x >= 0 && x < line.length; x += step) {
        const away = Math.abs(x - this.#x);
        const diagonal = last[x - step]!;
        let needed: number;
        if (away === down) needed = away === 1 ? -Infinity : straight(away, diagonal);
        else if (away > down) needed = between(down, away, diagonal, line[x - step]!);
        else needed = between(away, down, diagonal, last[x]!);
        this.#judge(line, x, y, needed);
      }
    }
  }

  /**
   * The line stores the height that hides a pixel's successors: the pixel's own height, or the height that hides the
   * pixel.
   */
  #judge(line: Float64Array, x: number, y: number, needed: number): void {
    const { targetHeight, maxDistance = Infinity, pixel } = this.sight;
    const height = line[x]!;
    const beyond = Math.hypot((x - this.#x) * pixel[0], (y - this.#y) * pixel[1]) > maxDistance;
    const visible = height > ABYSS && height + targetHeight >= needed;
    this.#visibility[y * this.window.width + x] = beyond ? BEYOND : visible ? VISIBLE : HIDDEN;
    if (height < needed) line[x] = needed;
  }
}

/** The height at n pixels that a height at n - 1 hides, on one line with the eye. */
const straight = (n: number, height: number) => (height * n) / (n - 1);

/**
 * Interpolates between two neighbours that are one pixel closer. The line of sight to a pixel that is `along` pixels
 * away and `aside` of the axis passes between the diagonal neighbour and the adjacent neighbour.
 */
function between(aside: number, along: number, diagonal: number, beside: number): number {
  return (diagonal * aside + beside * (along - aside)) / (along - 1);
}
