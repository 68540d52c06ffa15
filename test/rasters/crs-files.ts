import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const GRID =
  'ncols 4\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9\n1 2 3 4\n1 2 3 4\n1 2 3 4\n1 2 3 4\n';
const POINT =
  '{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":1},"geometry":{"type":"Point","coordinates":[7,47]}}]}';

/** A CRS that names this file as WKT 1, by both extensions that GDAL reads. */
const extended = (path: string) =>
  `GEOGCS["a",DATUM["b",SPHEROID["c",6378137,298.25],EXTENSION["PROJ4_GRIDS","${path}"]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],EXTENSION["PROJ4","+proj=longlat +ellps=GRS80 +nadgrids=${path} +no_defs"]]`;

/** A CRS that names this file as WKT 2. */
const bound = (path: string) => {
  const crs = (name: string) =>
    `GEOGCRS["${name}",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563]],CS[ellipsoidal,2],AXIS["lat",north],AXIS["lon",east],ANGLEUNIT["degree",0.0174532925199433]]`;
  return `BOUNDCRS[SOURCECRS[${crs('x')}],TARGETCRS[${crs('WGS 84')}],ABRIDGEDTRANSFORMATION["t",METHOD["NTv2",ID["EPSG",9615]],PARAMETERFILE["Latitude and longitude difference file","${path}"]]]`;
};

const xml = (text: string) => text.replaceAll('"', '&quot;');

/**
 * Writes rasters and a file geodatabase whose CRS names this file, each in the way of its format. The file must be there,
 * as GDAL opens it while it writes. Returns the names by kind.
 */
export function writeFilesWithCrs(folder: string, path: string): { rasters: string[]; vectors: string[] } {
  const at = (name: string) => join(folder, name);
  mkdirSync(folder);
  writeFileSync(at('ascii.asc'), GRID);
  const translate = (format: string, name: string, ...options: string[]) =>
    spawnSync('gdal_translate', ['-q', '-of', format, ...options, at('ascii.asc'), at(name)]);
  translate('GTiff', 'beside-wkt1.tif');
  cpSync(at('beside-wkt1.tif'), at('beside-wkt2.tif'));
  cpSync(at('beside-wkt1.tif'), at('beside-init.tif'));
  const stated = ['-a_srs', extended(path)];
  translate('HFA', 'imagine.img', ...stated);
  translate('netCDF', 'cf.nc', ...stated);
  translate('Zarr', 'store.zarr', ...stated);
  const beside = (name: string, crs: string) =>
    writeFileSync(at(`${name}.aux.xml`), `<PAMDataset><SRS>${xml(crs)}</SRS></PAMDataset>`);
  beside('beside-wkt1.tif', extended(path));
  beside('beside-wkt2.tif', bound(path));
  beside('beside-init.tif', `+init=${path}:1 +type=crs`);
  writeFileSync(at('ascii.prj'), extended(path));
  rmSync(at('ascii.asc.aux.xml'), { force: true });
  writeGeodatabase(folder, path);
  const rasters = ['ascii.asc', 'beside-wkt1.tif', 'beside-wkt2.tif', 'beside-init.tif', 'imagine.img'];
  return { rasters: [...rasters, 'cf.nc', 'store.zarr'], vectors: ['table.gdb'] };
}

/** The driver writes no extensions, so the definition takes the place of one that is as long. */
function writeGeodatabase(folder: string, path: string): void {
  const source = join(folder, 'point.geojson');
  const store = join(folder, 'table.gdb');
  writeFileSync(source, POINT);
  execFileSync('ogr2ogr', ['-f', 'OpenFileGDB', store, source]);
  const short = `GEOGCS["a",DATUM["b",SPHEROID["c",6378137,298],EXTENSION["PROJ4_GRIDS","${path}"]],PRIMEM["G",0],UNIT["d",0.0174]]`;
  let count = 0;
  for (const name of readdirSync(store)) {
    const file = join(store, name);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file, 'latin1');
    const changed = bytes.replace(/GEOGCS\["GCS_WGS_1984".*?0\.0174532925199433\]\]/g, (text) => {
      if (short.length > text.length) throw new Error('the path is too long for the definition');
      count += 1;
      return short.padEnd(text.length);
    });
    if (changed !== bytes) writeFileSync(file, changed, 'latin1');
  }
  if (count === 0) throw new Error('the geodatabase has no definition');
}
