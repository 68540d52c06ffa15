import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import gdal from 'gdal-async';

/** SYNTHETIC imagery: three bands of bytes, UTM 33N, 10 m a pixel; hills and fields under grain, the same for every run. */

const BANDS = 3;
export const PIXEL = 10;
export const ORIGIN = [400_000, 5_800_000] as const;
export const EPSG = 32633;
/** Rows that are made and written at a time. */
const STRIP = 512;

/** A cloud optimized GeoTIFF (DEFLATE, predictor, overviews) of `side` x `side` pixels; made once and kept. */
export async function imagery(side: number): Promise<string> {
  const folder = resolve('.cache/bench');
  const path = join(folder, `imagery-1-${side}.tif`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const raw = `${path}.raw.tif`;
  const part = `${path}.part`;
  await writePixels(raw, side);
  const source = await gdal.openAsync(raw);
  const options = ['COMPRESS=DEFLATE', 'PREDICTOR=YES', 'LEVEL=6', 'BIGTIFF=IF_SAFER', 'NUM_THREADS=2'];
  const written = await gdal.translateAsync(part, source, [
    '-of',
    'COG',
    ...options.flatMap((option) => ['-co', option]),
  ]);
  written.close();
  source.close();
  rmSync(raw);
  renameSync(part, path);
  return path;
}

async function writePixels(path: string, side: number): Promise<void> {
  const options = ['TILED=YES', 'BIGTIFF=YES', 'PHOTOMETRIC=RGB'];
  const dataset = await gdal.drivers.get('GTiff').createAsync(path, side, side, BANDS, 'Byte', options);
  dataset.srs = gdal.SpatialReference.fromEPSG(EPSG);
  dataset.geoTransform = [ORIGIN[0], PIXEL, 0, ORIGIN[1], 0, -PIXEL];
  const waves = Array.from({ length: BANDS }, (_, band) => tables(side, band));
  for (let top = 0; top < side; top += STRIP) {
    for (let band = 0; band < BANDS; band++) {
      const strip = stripOf(side, top, waves[band]!, band);
      await dataset.bands.get(band + 1).pixels.writeAsync(0, top, side, STRIP, strip);
    }
  }
  dataset.close();
}

interface Waves {
  hills: Float32Array;
  fields: Float32Array;
}

function tables(side: number, band: number): Waves {
  const wave = (length: number, height: number) =>
    Float32Array.from({ length: side * 2 }, (_, i) => height * Math.sin((i / length) * 2 * Math.PI + band));
  return { hills: wave(1733, 50), fields: wave(97, 20) };
}

function stripOf(side: number, top: number, { hills, fields }: Waves, band: number): Uint8Array {
  const strip = new Uint8Array(side * STRIP);
  let grain = (top * BANDS + band + 1) >>> 0;
  for (let row = 0, at = 0; row < STRIP; row++) {
    const y = top + row;
    for (let x = 0; x < side; x++, at++) {
      grain = (Math.imul(grain, 1_664_525) + 1_013_904_223) >>> 0;
      strip[at] = 128 + hills[x + y]! + fields[x + (((y >> 6) * 31) % side)]! + (grain >>> 30);
    }
  }
  return strip;
}
