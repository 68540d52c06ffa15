import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { RASTER_STYLE } from '../../src/core/styles/default-style.js';
import type { StyleLayer } from '../../src/core/styles/model.js';
import { rasterSteps } from '../../src/core/styles/raster-steps.js';
import { importSld } from '../../src/core/styles/sld/import/import.js';
import { DEM, fileRaster, LANDSAT, suiteEngine } from '../engine/support.js';
import { LOOKS } from './looks.js';
import { RASTER_LOOKS } from './raster-looks.js';
import { RASTER_SLDS, VECTOR_SLDS } from './slds.js';
import { PLACE } from './tiles.js';

/**
 * Each symbolizer, in MapLibre styles and in SLD, against a picture that was looked at. `UPDATE_GOLDEN=1` writes the
 * pictures anew.
 */

const GOLDEN = 'test/styles/golden';
const ACTUAL = 'test/artefacts/golden';
const SIDE = 256;
/** Differences of a channel that antialiasing makes, and the share of pixels that may differ by more. */
const TOLERANCE = 24;
const MAX_DIFFERENT = 0.005;

const suite = suiteEngine();

async function vectorMap(tile: Uint8Array, layers: readonly StyleLayer[]): Promise<Uint8Array> {
  const { data } = await suite.pool.run('map.render', {
    width: SIDE,
    height: SIDE,
    background: '#f4f6f8',
    layers: [{ kind: 'vector', tile, style: JSON.stringify(layers) }],
    tileExtent: 4096,
    zoom: PLACE.zoom,
    scale: 1,
    format: 'png',
    bbox: [0, 0, 1, 1],
    crs: 'EPSG:3857',
  });
  return data;
}

async function rasterMap(of: 'dem' | 'landsat', layers: readonly StyleLayer[]): Promise<Uint8Array> {
  const steps = rasterSteps({ ...RASTER_STYLE, layers }, 12);
  const box = [-34.916, -8.04, -34.826, -7.95];
  const { data } = await suite.pool.run('raster.image', {
    source: fileRaster(of === 'dem' ? DEM : LANDSAT),
    bbox: box as [number, number, number, number],
    crs: 'EPSG:4326',
    width: SIDE,
    height: SIDE,
    format: 'png',
    pixelMetres: [35, 35],
    ...(steps && { steps }),
  });
  return data;
}

async function expectGolden(name: string, image: Uint8Array): Promise<void> {
  const file = `${name.replaceAll(/[^\w]+/g, '-')}.png`;
  mkdirSync(ACTUAL, { recursive: true });
  writeFileSync(`${ACTUAL}/${file}`, image);
  if (process.env['UPDATE_GOLDEN']) {
    mkdirSync(GOLDEN, { recursive: true });
    writeFileSync(`${GOLDEN}/${file}`, await sharp(image).png({ palette: true, effort: 10 }).toBuffer());
  }
  expect(existsSync(`${GOLDEN}/${file}`), `no picture ${file}`).toBe(true);
  const [actual, golden] = await Promise.all([pixels(image), pixels(readFileSync(`${GOLDEN}/${file}`))]);
  expect(golden.length).toBe(actual.length);
  expect(differing(actual, golden)).toBeLessThanOrEqual(MAX_DIFFERENT);
}

/** Over white: what is transparent has no colour. */
const pixels = (image: Uint8Array): Promise<Buffer> =>
  sharp(image).flatten({ background: '#ffffff' }).ensureAlpha().raw().toBuffer();

function differing(a: Uint8Array, b: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < a.length; at += 4)
    if ([0, 1, 2, 3].some((channel) => Math.abs(a[at + channel]! - b[at + channel]!) > TOLERANCE)) count++;
  return count / (a.length / 4);
}

describe('MapLibre styles', () => {
  it.each(Object.entries(LOOKS))('draw %s', async (name, { tile, layers }) => {
    await expectGolden(`maplibre ${name}`, await vectorMap(tile(), layers));
  });

  it.each(Object.entries(RASTER_LOOKS))('draw %s', async (name, { of, layers }) => {
    await expectGolden(`maplibre ${name}`, await rasterMap(of, layers));
  });
});

describe('SLD', () => {
  it.each(Object.entries(VECTOR_SLDS))('draws %s', async (name, { tile, sld }) => {
    const { layers, diagnostics } = importSld(sld);
    expect(diagnostics.filter(({ severity }) => severity === 'Error')).toEqual([]);
    await expectGolden(`sld ${name}`, await vectorMap(tile(), layers));
  });

  it.each(Object.entries(RASTER_SLDS))('draws %s', async (name, { of, sld }) => {
    const { layers } = importSld(sld);
    await expectGolden(`sld ${name}`, await rasterMap(of, layers));
  });
});

describe('the comparison', () => {
  it('sees what is drawn otherwise', async () => {
    const { tile, layers } = LOOKS['circles by attributes']!;
    const larger = layers.map((layer) => ({
      ...layer,
      paint: { ...layer.paint, 'circle-radius': ['*', 2.6, ['get', 'size']] },
    }));
    const [a, b] = await Promise.all([
      pixels(await vectorMap(tile(), layers)),
      pixels(await vectorMap(tile(), larger as StyleLayer[])),
    ]);
    expect(differing(a, b)).toBeGreaterThan(MAX_DIFFERENT);
  });
});
