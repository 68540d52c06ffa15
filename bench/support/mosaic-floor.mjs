/**
 * The least that GDAL does for tiles of scenes that lie over each other, in one process and one thread, without HTTP:
 * the blocks of each scene decoded and warped. Nothing is merged or encoded. Is given the files; then is sent tiles.
 */
import gdal from 'gdal-async';

gdal.config.set('GDAL_NUM_THREADS', '1');
gdal.config.set('GDAL_CACHEMAX', '256');
const SIDE = 256;
const MERCATOR = gdal.SpatialReference.fromEPSG(3857);

const scenes = process.argv.slice(2).map((path) => gdal.open(path));
const image = gdal.open('tile', 'w', 'MEM', SIDE, SIDE, 3, 'Byte');
image.srs = MERCATOR;

function warp(src, [minx, , maxx, maxy]) {
  const pixel = (maxx - minx) / SIDE;
  image.geoTransform = [minx, pixel, 0, maxy, 0, -pixel];
  const options = ['XSCALE=1', 'YSCALE=1', 'INIT_DEST=0'];
  const crs = { s_srs: src.srs, t_srs: MERCATOR };
  gdal.reprojectImage({ ...crs, src, dst: image, resampling: 'Bilinear', maxError: 0.125, options });
}

process.on('message', (boxes) => {
  const before = process.cpuUsage();
  const started = performance.now();
  for (const box of boxes) for (const scene of scenes) warp(scene, box);
  const { user, system } = process.cpuUsage(before);
  process.send({ cpuMs: (user + system) / 1e3, wallMs: performance.now() - started });
});
process.send('ready');
