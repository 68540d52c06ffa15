import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { encodeTiffTiles, type Samples, type TiffImage } from '../../../src/native/index.js';
import { randomNumbers } from '../../support/random.js';

const TYPES = [
  Uint8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
] as const;
type SampleArray = (typeof TYPES)[number];

function filled(type: SampleArray, length: number, value: (index: number) => number): Samples {
  const samples = new type(length);
  for (let i = 0; i < length; i++) samples[i] = value(i);
  return samples;
}

function noise(type: SampleArray, length: number, seed: number): Samples {
  const next = randomNumbers(seed);
  const scale = type === Float32Array || type === Float64Array ? 1e6 : 256 ** type.BYTES_PER_ELEMENT;
  return filled(type, length, () => (next() - 0.25) * scale);
}

/** Slopes, steps and flat parts. */
function terrain(type: SampleArray, width: number, height: number): Samples {
  return filled(type, width * height, (i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    return x > width / 2 ? 7 : Math.round(50 + 40 * Math.sin(x / 9) + y / 5);
  });
}

interface DecodedImage {
  width: number;
  height: number;
  bands: Samples[];
}

/** What a reader of TIFF makes of the tiles: the image first, then its overviews. */
async function decoded(image: TiffImage): Promise<DecodedImage[]> {
  const { data, offsets, sizes } = await encodeTiffTiles(image);
  const bytes = Buffer.from(data);
  const tiles = Array.from(offsets, (offset, index) => {
    const size = sizes[index]!;
    expect(bytes.readUInt32LE(offset - 4)).toBe(size);
    const end = offset + size;
    expect(bytes.subarray(end, end + 4).equals(bytes.subarray(end - 4, end))).toBe(true);
    return inflateSync(bytes.subarray(offset, end));
  });
  const images: DecodedImage[] = [];
  let { width, height } = image;
  while (tiles.length > 0) {
    const count = Math.ceil(width / image.side) * Math.ceil(height / image.side);
    images.push(assembled(tiles.splice(-count), { ...image, width, height }));
    [width, height] = [Math.ceil(width / 2), Math.ceil(height / 2)];
  }
  return images;
}

function assembled(tiles: Buffer[], { width, height, side, bands }: TiffImage): DecodedImage {
  const type = bands[0]!.constructor as SampleArray;
  const across = Math.ceil(width / side);
  const values = bands.map(() => new type(width * height));
  for (const [index, tile] of tiles.entries()) {
    const [left, top] = [(index % across) * side, Math.floor(index / across) * side];
    const rowBytes = side * bands.length * type.BYTES_PER_ELEMENT;
    expect(tile.length).toBe(side * rowBytes);
    for (let y = 0; y < side && top + y < height; y++) {
      const row = unpredicted(tile.subarray(y * rowBytes, (y + 1) * rowBytes), type, bands.length);
      for (let x = 0; x < side && left + x < width; x++)
        for (const [band, array] of values.entries())
          array[(top + y) * width + left + x] = row[x * bands.length + band]!;
    }
  }
  return { width, height, bands: values as Samples[] };
}

/** Predictors 2 and 3 of TIFF (Technical Notes 3), undone. */
function unpredicted(row: Buffer, type: SampleArray, bands: number): Samples {
  const size = type.BYTES_PER_ELEMENT;
  if (type !== Float32Array && type !== Float64Array) {
    const samples = new type(new Uint8Array(row).buffer);
    for (let i = bands; i < samples.length; i++) samples[i]! += samples[i - bands]!;
    return samples;
  }
  const planes = new Uint8Array(row);
  for (let i = bands; i < planes.length; i++) planes[i]! += planes[i - bands]!;
  const count = planes.length / size;
  const bytes = new Uint8Array(planes.length);
  for (let i = 0; i < count; i++)
    for (let byte = 0; byte < size; byte++) bytes[i * size + size - 1 - byte] = planes[byte * count + i]!;
  return new type(bytes.buffer);
}

describe('tiles of a GeoTIFF', () => {
  for (const type of TYPES) {
    it.each([
      [1, 1, 1],
      [16, 16, 3],
      [33, 70, 2],
      [129, 40, 4],
    ])(`hold ${type.name} samples of %i x %i pixels in %i bands`, async (width, height, count) => {
      for (const make of [noise, terrain]) {
        const bands = Array.from({ length: count }, (_, band) =>
          make === noise ? noise(type, width * height, band + 1) : terrain(type, width, height),
        );
        const [image] = await decoded({ bands, width, height, side: 32, overviews: 'none' });
        expect(image!.bands).toEqual(bands);
      }
    });
  }

  it('hold large flat areas, runs of every length, and what repeats from row to row', async () => {
    const [width, height] = [700, 300];
    const next = randomNumbers(3);
    const runs = new Uint8Array(width * height);
    for (let at = 0, length = 1; at < runs.length; at += length, length = (length % 600) + 1)
      runs.fill(Math.floor(next() * 3), at, at + length);
    const row = noise(Uint8Array, width, 5);
    const rows = Uint8Array.from({ length: width * height }, (_, i) => row[i % width]!);
    for (const band of [new Uint8Array(width * height), runs, rows]) {
      const [image] = await decoded({ bands: [band], width, height, side: 512, overviews: 'none' });
      expect(Buffer.compare(image!.bands[0] as Uint8Array, band)).toBe(0);
    }
  });

  it('are small where values repeat, and not larger than deflate makes noise', async () => {
    const side = 256;
    const size = async (band: Samples) => {
      const { sizes } = await encodeTiffTiles({
        ...{ bands: [band], width: side, height: side, side },
        overviews: 'none',
      });
      return sizes[0]!;
    };
    const row = noise(Uint8Array, side, 5);
    const rows = Uint8Array.from({ length: side * side }, (_, i) => row[i % side]!);
    expect(await size(rows)).toBeLessThan(2500);
    expect(await size(new Uint8Array(side * side))).toBeLessThan(300);
    expect(await size(noise(Uint8Array, side * side, 1))).toBeLessThan(side * side * 1.01);
  });

  it('come with overviews: averages of valid pixels, down to one tile', async () => {
    const [width, height, nodata] = [70, 37, 9];
    const next = randomNumbers(1);
    const band = Int16Array.from({ length: width * height }, () => Math.floor(next() * 12) - 2);
    const images = await decoded({ bands: [band], width, height, side: 16, overviews: 'average', nodata });
    expect(images.map((image) => [image.width, image.height])).toEqual([
      [70, 37],
      [35, 19],
      [18, 10],
      [9, 5],
    ]);
    for (const [index, small] of images.slice(1).entries()) {
      const large = images[index]!;
      for (let i = 0; i < small.width * small.height; i++) {
        const [x, y] = [2 * (i % small.width), 2 * Math.floor(i / small.width)];
        const rows = [y, Math.min(y + 1, large.height - 1)];
        const columns = [x, Math.min(x + 1, large.width - 1)];
        const valid = rows
          .flatMap((r) => columns.map((c) => large.bands[0]![r * large.width + c]!))
          .filter((value) => value !== nodata);
        const mean = Math.floor(valid.reduce((a, b) => a + b, 0) / valid.length + 0.5);
        const wanted = valid.length === 0 ? nodata : mean === nodata ? nodata + 1 : mean;
        expect(small.bands[0]![i]).toBe(wanted);
      }
    }
  });

  it('come with overviews of every second pixel for values that are names', async () => {
    const band = noise(Uint8Array, 40 * 40, 2);
    const [, small] = await decoded({ bands: [band], width: 40, height: 40, side: 32, overviews: 'nearest' });
    expect([small!.width, small!.height]).toEqual([20, 20]);
    expect(small!.bands[0]![21]).toBe(band[2 * 40 + 2]);
  });

  it('come with statistics of what is valid', async () => {
    const statistics = async (band: Samples, nodata?: number) => {
      const image = { bands: [band], width: band.length, height: 1, side: 16, overviews: 'none' as const };
      return [...(await encodeTiffTiles({ ...image, nodata })).statistics];
    };
    expect(await statistics(Uint8Array.of(1, 2, 9, 3), 9)).toEqual([
      3,
      1,
      3,
      2,
      expect.closeTo(Math.sqrt(2 / 3), 12),
    ]);
    expect(await statistics(Int16Array.of(-5, 5))).toEqual([2, -5, 5, 0, 5]);
    expect(await statistics(Float64Array.of(Number.NaN, 1e9 + 1, 1e9 + 3))).toEqual([
      2,
      1e9 + 1,
      1e9 + 3,
      1e9 + 2,
      1,
    ]);
    // A nodata value that the type rounds.
    expect(await statistics(Float32Array.of(1e20, 4), 1e20)).toEqual([1, 4, 4, 4, 0]);
    // No sample of the type is this value.
    expect(await statistics(Uint8Array.of(1, 255), -9999)).toEqual([2, 1, 255, 128, 127]);
    expect(await statistics(Uint8Array.of(7, 7), 7)).toEqual([0, 0, 0, 0, 0]);
  });

  it('are refused of bands that do not fit', () => {
    const image: TiffImage = { bands: [new Uint8Array(4)], width: 2, height: 2, side: 16, overviews: 'none' };
    const wrong: Partial<TiffImage>[] = [
      { bands: [] },
      { bands: [new Uint8Array(3)] },
      { bands: [new Uint8Array(4), new Uint16Array(4)] },
      { bands: ['pixels'] as never },
      { bands: [new BigInt64Array(4)] as never },
      { width: 0 },
      { height: 2.5 },
      { side: 17 },
      { side: 0 },
      { overviews: 'all' as never },
    ];
    for (const part of wrong) expect(() => encodeTiffTiles({ ...image, ...part })).toThrow();
  });
});
