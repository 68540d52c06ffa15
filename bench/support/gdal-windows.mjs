/**
 * GDAL in one process, without HTTP: the floor of a server that asks GDAL. Opens the raster given as argument and does
 * the windows that it is sent, one after the other, with the arguments that GDAL's utilities would get.
 */
import gdal from 'gdal-async';

gdal.config.set('GDAL_NUM_THREADS', '1');
gdal.config.set('GDAL_CACHEMAX', '256');
const source = await gdal.openAsync(process.argv[2]);
const COG = ['COMPRESS=DEFLATE', 'LEVEL=1', 'PREDICTOR=YES', 'BLOCKSIZE=256', 'OVERVIEWS=NONE'];
let count = 0;

async function write(dataset, selection) {
  const path = `/vsimem/window-${count++}.tif`;
  const options = ['-of', 'COG', ...COG.flatMap((option) => ['-co', option]), ...selection];
  (await gdal.translateAsync(path, dataset, options)).close();
  return gdal.vsimem.release(path).length;
}

function warp({ box, side }) {
  const grid = ['-t_srs', 'EPSG:3857', '-te', ...box.map(String), '-ts', String(side), String(side)];
  return gdal.warpAsync('window', null, [source], ['-of', 'MEM', ...grid, '-r', 'bilinear']);
}

const WORK = {
  crop: ({ window }) => write(source, ['-srcwin', ...window.map(String)]),
  warp: async (job) => {
    const warped = await warp(job);
    const bytes = await write(warped, []);
    warped.close();
    return bytes;
  },
};

process.on('message', async ({ kind, jobs }) => {
  const started = performance.now();
  const before = process.cpuUsage();
  let bytes = 0;
  for (const job of jobs) bytes += await WORK[kind](job);
  const { user, system } = process.cpuUsage(before);
  process.send({ wallMs: performance.now() - started, cpuMs: (user + system) / 1e3, bytes });
});
process.send('ready');
