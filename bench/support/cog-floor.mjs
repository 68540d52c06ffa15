/**
 * The least that GDAL does for the tiles of a screen, in one process and one thread, without HTTP: their blocks decoded
 * once, then, where the raster lies on the pixels of the tiles, a copy, else one warp of the whole screen from the
 * overview that fits; then an encoder for each tile. Says what each step takes.
 */
import gdal from 'gdal-async';
import sharp from 'sharp';

sharp.concurrency(1);
sharp.cache(false);
gdal.config.set('GDAL_NUM_THREADS', '1');
gdal.config.set('GDAL_CACHEMAX', '256');
const { encodePicturePng } = await import(process.argv[3]);
const TILE = 256;

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};

/** The coarsest level that is not coarser than the pixels of the tiles, to a hundredth. */
async function levelOf(source, shrink) {
  const { overviews, size } = source.bands.get(1);
  let level = -1;
  for (let index = 0; index < overviews.count(); index++)
    if (size.x / overviews.get(index).size.x <= shrink * 1.01) level = index;
  if (level < 0) return { level: source, close() {} };
  const view = await gdal.translateAsync('', source, ['-of', 'VRT', '-ovr', String(level)]);
  return { level: view, close: () => view.close() };
}

function windowOf(dataset, [minx, miny, maxx, maxy]) {
  const [x0, width, , y0, , height] = dataset.geoTransform;
  const [left, top] = [(minx - x0) / width, (maxy - y0) / height];
  return [left, top, (maxx - x0) / width - left, (miny - y0) / height - top];
}

/** Pixels of a screen. */
async function pixelsOf(dataset, [left, top, width, height]) {
  const rgba = new Uint8Array(width * height * 4).fill(255);
  for (let band = 1; band <= 3; band++) {
    const layout = { pixel_space: 4, line_space: 4 * width, offset: band - 1 };
    await dataset.bands.get(band).pixels.readAsync(left, top, width, height, rgba, layout);
  }
  return rgba;
}

/** Values from 0 to 1000 as shades. */
async function shades(dataset, [left, top, width, height]) {
  const values = await dataset.bands.get(1).pixels.readAsync(left, top, width, height);
  const rgba = new Uint8Array(values.length * 4).fill(255);
  for (let i = 0, at = 0; i < values.length; i++, at += 4) {
    const shade = Math.min(255, Math.max(0, Math.round(values[i] * 0.255)));
    rgba[at] = rgba[at + 1] = rgba[at + 2] = shade;
  }
  return rgba;
}

async function screen(source, { box, sourceBox, columns, rows, shrink, format }, spent) {
  const { level, close } = await levelOf(source, shrink);
  const [width, height] = [columns * TILE, rows * TILE];
  const [left, top, across, down] = windowOf(level, sourceBox ?? box);
  const isFloat = level.bands.get(1).dataType === 'Float32';
  const channels = isFloat ? 1 : 3;
  let at = cpuMs();
  const step = (name) => {
    const now = cpuMs();
    spent[name] = (spent[name] ?? 0) + now - at;
    at = now;
  };
  const inner = [Math.floor(left), Math.floor(top), Math.round(across), Math.round(down)];
  for (let band = 1; band <= channels; band++) await level.bands.get(band).pixels.readAsync(...inner);
  step('decoding');
  const isCopy = !sourceBox && Math.abs(across - width) < 1e-3 && Math.abs(left - Math.round(left)) < 1e-3;
  let pixels;
  if (isCopy) pixels = await pixelsOf(level, [Math.round(left), Math.round(top), width, height]);
  else {
    const grid = ['-t_srs', 'EPSG:3857', '-te', ...box.map(String), '-ts', String(width), String(height)];
    const plain = ['-r', 'bilinear', '-ovr', 'NONE', '-wo', 'XSCALE=1', '-wo', 'YSCALE=1'];
    const warped = await gdal.warpAsync('screen', null, [level], ['-of', 'MEM', ...grid, ...plain]);
    step('warping');
    const all = [0, 0, width, height];
    pixels = await (isFloat ? shades(warped, all) : pixelsOf(warped, all));
    warped.close();
  }
  step('colours');
  let bytes = 0;
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const window = { x: column * TILE, y: row * TILE, width: TILE, height: TILE };
      bytes += (await encode(pixels, width, window, format)).byteLength;
    }
  step('encoding');
  close();
  return bytes;
}

function encode(pixels, stride, window, format) {
  if (format === 'png') return encodePicturePng(pixels, stride, window);
  const raw = { width: stride, height: pixels.length / stride / 4, channels: 4 };
  const { x: left, y: top, width, height } = window;
  return sharp(pixels, { raw })
    .extract({ left, top, width, height })
    .webp({ quality: 85, effort: 1 })
    .toBuffer();
}

process.on('message', async (screens) => {
  const source = await gdal.openAsync(process.argv[2]);
  const started = performance.now();
  const before = cpuMs();
  const steps = {};
  let bytes = 0;
  for (const one of screens) bytes += await screen(source, one, steps);
  process.send({ wallMs: performance.now() - started, cpuMs: cpuMs() - before, bytes, steps });
  source.close();
});
process.send('ready');
