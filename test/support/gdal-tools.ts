import { execFileSync } from 'node:child_process';
import gdal from 'gdal-async';

/**
 * The utilities of GDAL in the test process, by their library versions: the same code, without a process for each call, which
 * took ten times as long as the work on small rasters.
 */

const STANDARD_OUTPUT = '/vsistdout/';
const PRINTED = '/vsimem/printed';

/** Utilities that are called here, and what the last arguments are: a source, or a source and a destination. */
const LIBRARY: Readonly<Record<string, (args: string[]) => string>> = {
  gdalinfo(args) {
    const dataset = gdal.open(args.pop()!);
    try {
      return gdal.info(dataset, args);
    } finally {
      dataset.close();
    }
  },
  gdal_translate(args) {
    const [from, to] = args.splice(-2) as [string, string];
    const source = gdal.open(from);
    const isPrinted = to === STANDARD_OUTPUT;
    try {
      gdal.translate(isPrinted ? PRINTED : to, source, args).close();
    } finally {
      source.close();
    }
    return isPrinted ? gdal.vsimem.release(PRINTED).toString() : '';
  },
  gdalwarp(args) {
    const [from, to] = args.splice(-2) as [string, string];
    const source = gdal.open(from);
    try {
      gdal.warp(to, null, [source], args).close();
    } finally {
      source.close();
    }
    return '';
  },
};

/**
 * Settings of one call, and answers about GDAL, need a process. So do URLs: a file that shares the test process may have
 * shut GDAL off from the network, as the server does.
 */
const needsProcess = (args: readonly string[]) => args.some((arg) => /^--|https?:/.test(arg));

/** Runs a utility of GDAL, or another program, and returns what it writes to standard output. */
export function gdalTool(program: string, ...args: readonly (string | number)[]): string {
  const texts = args.map(String);
  const library = LIBRARY[program];
  if (library && !needsProcess(texts)) return library(texts.filter((text) => text !== '-q'));
  return execFileSync(program, texts, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Values of all bands of a raster, one band after the other. */
export function rasterValues(path: string): Float64Array {
  const dataset = gdal.open(path);
  try {
    const { x: width, y: height } = dataset.rasterSize;
    const all = new Float64Array(width * height * dataset.bands.count());
    dataset.bands.forEach((band, number) => {
      const own = all.subarray((number - 1) * width * height, number * width * height);
      band.pixels.read(0, 0, width, height, own);
    });
    return all;
  } finally {
    dataset.close();
  }
}

/** Values of all bands that gdalwarp makes of a raster, pixel after pixel. */
export function warpedPixels(path: string, ...options: readonly (string | number)[]): Float32Array {
  const source = gdal.open(path);
  const warped = gdal.warp('warped', null, [source], ['-of', 'MEM', ...options.map(String)]);
  try {
    const { x: width, y: height } = warped.rasterSize;
    const count = warped.bands.count();
    const all = new Float32Array(width * height * count);
    warped.bands.forEach((band, number) => {
      const own = band.pixels.read(0, 0, width, height, new Float32Array(width * height));
      for (let at = 0; at < own.length; at++) all[at * count + number - 1] = own[at]!;
    });
    return all;
  } finally {
    warped.close();
    source.close();
  }
}
