import sharp from 'sharp';
import { expect } from 'vitest';

/** Pictures of the page of test/support/arcgis-sdk.ts, on white. */

export type Box = [xmin: number, ymin: number, xmax: number, ymax: number];

export const WIDTH = 400;
export const HEIGHT = 300;

export interface Picture {
  /** Red, green and blue. */
  data: Buffer;
  /** Whether a pixel is anything but white. */
  ink: boolean[];
}

export async function pictureOf(bytes: Buffer): Promise<Picture> {
  const { data, info } = await sharp(bytes)
    .flatten({ background: '#ffffff' })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect([info.width, info.height]).toEqual([WIDTH, HEIGHT]);
  const ink = Array.from({ length: WIDTH * HEIGHT }, (_, i) =>
    colourAt({ data }, i).some((one) => one < 250),
  );
  return { data, ink };
}

export const colourAt = ({ data }: Pick<Picture, 'data'>, pixel: number) => [
  ...data.subarray(3 * pixel, 3 * pixel + 3),
];

/** The share of pixels that are not white. */
export const inkShare = ({ ink }: Picture) => ink.filter(Boolean).length / ink.length;

/** The share of pixels that both pictures have, or have not. */
export const agreement = (a: Picture, b: Picture) =>
  a.ink.filter((one, i) => one === b.ink[i]).length / a.ink.length;

/** The mean difference of channels. */
export const difference = (a: Picture, b: Picture) =>
  a.data.reduce((sum, one, i) => sum + Math.abs(one - b.data[i]!), 0) / a.data.length;

/** The columns and rows between which a picture is not white. */
export function inkBox({ ink }: Picture): Box {
  const pixels = ink.flatMap((isInk, i) => (isInk ? [[i % WIDTH, Math.floor(i / WIDTH)] as const] : []));
  const [columns, rows] = [pixels.map(([column]) => column), pixels.map(([, row]) => row)];
  return [Math.min(...columns), Math.min(...rows), Math.max(...columns) + 1, Math.max(...rows) + 1];
}

/** Where a box lies in the picture of a window, the upper left corner first. */
export function pixelBox([west, south, east, north]: Box, [xmin, ymin, xmax, ymax]: Box): Box {
  const [column, row] = [WIDTH / (xmax - xmin), HEIGHT / (ymax - ymin)];
  return [(west - xmin) * column, (ymax - north) * row, (east - xmin) * column, (ymax - south) * row];
}
