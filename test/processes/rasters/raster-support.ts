import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gdal from 'gdal-async';
import { expect } from 'vitest';
import { gdalTool } from '../../support/gdal-tools.js';
import { type Json, ProcessClient } from '../support.js';

export const DEM = 'demo/data/olinda_dem_utm25s.tif';
export const DEM_COLLECTION = 'olinda_dem_utm25s';

/** A folder of files that goes with a test. */
export class Files {
  readonly folder = mkdtempSync(join(tmpdir(), 'graticule-raster-processes-'));
  #count = 0;

  path(ending: string): string {
    return join(this.folder, `${this.#count++}.${ending}`);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Runs a program of GDAL. Those in Python have an ending in some versions. */
export function tool(program: string, ...args: string[]): void {
  const script = `/usr/bin/${program}.py`;
  const quiet = program === 'gdal_calc' ? '--quiet' : '-q';
  if (!existsSync(script)) gdalTool(program, ...args, quiet);
  else execFileSync(script, [...args, quiet]);
}

/** Talks to the processes of rasters of a server. */
export class RasterClient extends ProcessClient {
  constructor(
    server: ConstructorParameters<typeof ProcessClient>[0],
    private readonly files: Files,
  ) {
    super(server);
  }

  /** The output of a process as a file; the raster is the heights of Olinda when none is named. */
  async output(id: string, inputs: Json, name: 'raster' | 'features'): Promise<string> {
    const status = await this.run(id, { inputs: { raster: { collection: DEM_COLLECTION }, ...inputs } });
    return this.saved(status, name);
  }

  /** The output of a job that succeeded, as a file. */
  async saved(status: Json, name: 'raster' | 'features'): Promise<string> {
    expect([status.status, status.message]).toEqual(['successful', expect.any(String)]);
    const response = await this.get(`/ogc/processes/jobs/${status.jobID}/results/${name}?f=gpkg`);
    expect(response.headers.get('content-type')).toBe(
      name === 'raster' ? 'image/tiff; application=geotiff' : 'application/geopackage+sqlite3',
    );
    const file = this.files.path(name === 'raster' ? 'tif' : 'gpkg');
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    return file;
  }
}

interface Pixels {
  x: number;
  y: number;
  pixels: Float64Array;
}

export function geoTransformOf(path: string): [number, number, number, number, number, number] {
  const dataset = gdal.open(path);
  const transform = dataset.geoTransform as ReturnType<typeof geoTransformOf>;
  dataset.close();
  return transform;
}

interface Row {
  values: number[];
  type: string;
  nodata?: number;
  scale?: number;
  /** Side of the pixels in metres, 30 m when absent. */
  side?: number;
}

/** Writes two rows of the same values, over the heights of Olinda. */
export function writeRow(path: string, { values, type, nodata, scale, side = 30 }: Row): void {
  const dataset = gdal.open(path, 'w', 'GTiff', values.length, 2, 1, type);
  dataset.srs = gdal.SpatialReference.fromEPSG(31985);
  dataset.geoTransform = [290_000, side, 0, 9_116_000, 0, -side];
  const band = dataset.bands.get(1);
  if (nodata !== undefined) band.noDataValue = nodata;
  if (scale !== undefined) band.scale = scale;
  band.pixels.write(0, 0, values.length, 2, Float64Array.of(...values, ...values));
  dataset.close();
}

/** The values of a band; NaN where there is none. */
export function pixelsOf(path: string, number = 1): Pixels {
  const dataset = gdal.open(path);
  const { x, y } = dataset.rasterSize;
  const band = dataset.bands.get(number);
  const pixels = Float64Array.from(band.pixels.read(0, 0, x, y) as ArrayLike<number>);
  const valid = band.getMaskBand()!.pixels.read(0, 0, x, y) as ArrayLike<number>;
  for (let i = 0; i < pixels.length; i++) if (valid[i] === 0) pixels[i] = Number.NaN;
  dataset.close();
  return { x, y, pixels };
}

/** The largest difference of two rasters of the same size, pixel by pixel; Infinity where one alone has a value. */
export function difference(a: string, b: string, band = 1): number {
  const [one, other] = [pixelsOf(a, band), pixelsOf(b, band)];
  expect([one.x, one.y]).toEqual([other.x, other.y]);
  return one.pixels.reduce((most, value, i) => Math.max(most, distance(value, other.pixels[i]!)), 0);
}

function distance(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) === Number.isNaN(b) ? 0 : Infinity;
  return Math.abs(a - b);
}

/** DEVIATIONS names a file that what was found is appended to, for the table in docs/reference/apis/process-accuracy.md. */
export function note(id: string, deviation: number): void {
  const file = process.env['DEVIATIONS'];
  if (file) appendFileSync(file, `${id} ${deviation.toPrecision(2)}\n`);
}
