import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from '../../../src/native/sqlite.js';

const POINT = { type: 'Point', coordinates: [7, 47] };
const FEATURE = { type: 'Feature', geometry: POINT, properties: { name: 'a' } };

/** Files of each format with this definition of their CRS, and with this path in its place, by their names. */
export function filesWithCrs(wkt: string, path: string): [name: string, content: string | Buffer][] {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-crs-'));
  try {
    return [...jsonFiles(wkt), ...gmlFiles(wkt, path), ...binaryFiles(folder, wkt)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function jsonFiles(wkt: string): [string, string][] {
  const crs = { type: 'name', properties: { name: wkt } };
  const plain = JSON.stringify({ type: 'FeatureCollection', crs, features: [FEATURE] });
  const last = JSON.stringify({ type: 'FeatureCollection', features: [FEATURE], crs });
  const set = {
    geometryType: 'esriGeometryPoint',
    spatialReference: { wkt },
    fields: [{ name: 'name', type: 'esriFieldTypeString' }],
    features: [{ attributes: { name: 'a' }, geometry: { x: 7, y: 47 } }],
  };
  return [
    ['plain.geojson', plain],
    ['last.geojson', last.replace('"crs"', '"\\u0063r\\u0073"')],
    ['set.json', JSON.stringify(set)],
  ];
}

function gmlFiles(wkt: string, path: string): [string, string][] {
  const gml = (name: string, before = '') => `<?xml version="1.0"?>${before}
    <ogr:FeatureCollection xmlns:ogr="http://ogr.maptools.org/" xmlns:gml="http://www.opengis.net/gml">
      <gml:featureMember><ogr:town fid="town.0"><ogr:geometryProperty><gml:Point srsName = '${name}'>
        <gml:coordinates>1,2</gml:coordinates></gml:Point></ogr:geometryProperty></ogr:town></gml:featureMember>
    </ogr:FeatureCollection>`;
  const escaped = wkt.replaceAll('"', '&quot;').replaceAll('/', '&#x2f;');
  return [
    ['wkt.gml', gml(escaped)],
    ['init.gml', gml(`+init=${path}:1`)],
    ['path.gml', gml(path)],
    ['dtd.gml', gml('&e;', `<!DOCTYPE x [<!ENTITY e "${escaped}">]>`)],
  ];
}

function binaryFiles(folder: string, wkt: string): [string, Buffer][] {
  const source = join(folder, 'in.geojson');
  writeFileSync(source, JSON.stringify({ type: 'FeatureCollection', features: [FEATURE] }));
  const store = join(folder, 'store.gpkg');
  execFileSync('ogr2ogr', ['-f', 'GPKG', store, source]);
  const db = new Database(store);
  db.prepare("INSERT INTO gpkg_spatial_ref_sys VALUES ('x', 99999, 'NONE', 99999, ?, NULL)").run(wkt);
  for (const table of ['gpkg_contents', 'gpkg_geometry_columns'])
    db.exec(`UPDATE ${table} SET srs_id = 99999`);
  db.close();
  // GDAL would open the file that a definition names: one without takes its place.
  const parts = /^(.*?PROJ4_GRIDS",")([^"]*)(".*?\]),EXTENSION/.exec(wkt)!;
  const other = 'a'.repeat(parts[2]!.length);
  const flat = join(folder, 'flat.fgb');
  const definition = `${parts[1]}${other}${parts[3]!}]`;
  writeFileSync(join(folder, 'crs.txt'), definition);
  // It misses the grid, and writes the file all the same.
  spawnSync('ogr2ogr', ['-f', 'FlatGeobuf', '-a_srs', join(folder, 'crs.txt'), flat, source]);
  const bytes = readFileSync(flat, 'latin1');
  if (!bytes.includes(other)) throw new Error('the definition is not in the file');
  return [
    ['store.gpkg', readFileSync(store)],
    ['flat.fgb', Buffer.from(bytes.replaceAll(other, parts[2]!), 'latin1')],
  ];
}
