import { existsSync, renameSync } from 'node:fs';
import gdal from 'gdal-async';
import { imagery } from './imagery.js';

/** The imagery as COGs of other kinds; each made once and kept. */
export const COGS = {
  'UTM, DEFLATE': [],
  'UTM, JPEG': ['COMPRESS=JPEG', 'QUALITY=85'],
  'UTM, floats': ['COMPRESS=DEFLATE', 'PREDICTOR=YES'],
  'EPSG:3857, DEFLATE': ['COMPRESS=DEFLATE', 'PREDICTOR=YES', 'TILING_SCHEME=GoogleMapsCompatible'],
  'EPSG:3857, JPEG': ['COMPRESS=JPEG', 'QUALITY=85', 'TILING_SCHEME=GoogleMapsCompatible'],
} as const;

export type CogKind = keyof typeof COGS;

export async function cogOf(kind: CogKind, side: number): Promise<string> {
  const whole = await imagery(side);
  const options = [...COGS[kind]];
  if (options.length === 0) return whole;
  const path = whole.replace('.tif', `-${kind.replace(/\W+/g, '-')}.tif`);
  if (existsSync(path)) return path;
  const source = await gdal.openAsync(whole);
  const floats =
    kind === 'UTM, floats' ? ['-b', '1', '-ot', 'Float32', '-scale', '0', '255', '0', '1000'] : [];
  const all = [...options, 'ADD_ALPHA=NO', 'WARP_RESAMPLING=BILINEAR', 'NUM_THREADS=2', 'BIGTIFF=IF_SAFER'];
  const creation = all.flatMap((option) => ['-co', option]);
  const written = await gdal.translateAsync(`${path}.part`, source, ['-of', 'COG', ...floats, ...creation]);
  written.close();
  source.close();
  renameSync(`${path}.part`, path);
  return path;
}
