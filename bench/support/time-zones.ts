import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { GeoPackageSource } from '../../src/core/sources/vector-source.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../src/native/index.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { load } from '../../src/workers/tiles/load.js';

/**
 * REAL data: the time zones of OpenStreetMap as npm `geo-tz` carries them, cut at the cells of its quadtree: 33,035
 * polygons of 7.9 million vertices.
 */
const HOME = resolve('.cache/geo-tz');
const PATH = '.cache/bench/time-zones.gpkg';

type Node = { pos: number; len: number } | { [key: string]: Node };

interface Feature {
  geometry: { type: string };
  properties: { tzid: string };
}

function* features(): Generator<Feature> {
  const require = createRequire(join(HOME, 'node_modules', 'index.js'));
  const { decode } = require('geobuf') as { decode(pbf: unknown): { features: Feature[] } };
  const Pbf = require('pbf') as new (bytes: Buffer) => unknown;
  const data = join(HOME, 'node_modules/geo-tz/data/timezones.geojson');
  const { lookup } = JSON.parse(readFileSync(`${data}.index.json`, 'utf8')) as { lookup: Node };
  const file = openSync(`${data}.geo.dat`, 'r');
  const nodes = [lookup];
  for (let node = nodes.pop(); node; node = nodes.pop()) {
    if (typeof node['pos'] === 'number') {
      const { pos, len } = node as { pos: number; len: number };
      const bytes = Buffer.alloc(len);
      readSync(file, bytes, 0, len, pos);
      yield* decode(new Pbf(bytes)).features;
    } else if (!Array.isArray(node)) nodes.push(...Object.values(node as Record<string, Node>));
  }
  closeSync(file);
}

/** The store with all time zones, made when it is not there yet. */
export function timeZones(): GeoPackageSource {
  mkdirSync('.cache/bench', { recursive: true });
  if (!existsSync(PATH)) {
    if (!existsSync(join(HOME, 'node_modules/geobuf')))
      execFileSync('npm', ['install', '--prefix', HOME, '--ignore-scripts', 'geo-tz@8.1.9', 'geobuf']);
    const [staging, part] = [`${PATH}.staging`, `${PATH}.part`];
    for (const file of [staging, part]) rmSync(file, { force: true });
    const db = connect(staging, false);
    prepareStore(db);
    db.pragma('synchronous = OFF');
    db.exec(`CREATE TABLE zones (fid INTEGER PRIMARY KEY, geom GEOMETRY, tzid TEXT);
      INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('zones', 'features', 'zones', 4326);
      INSERT INTO gpkg_geometry_columns VALUES ('zones', 'geom', 'GEOMETRY', 4326, 0, 0);`);
    const insert = db.prepare('INSERT INTO zones (geom, tzid) VALUES (?, ?)');
    const options = { from: 'OGC:CRS84', to: 'OGC:CRS84' };
    db.transaction(() => {
      for (const { geometry, properties } of features())
        insert.run(wkbToGeoPackage(geojsonToWkb(geometry, options), 4326), properties.tzid);
    })();
    db.close();
    load({ staging, stagingTable: 'zones', store: part, table: 'zones' });
    renameSync(part, PATH);
  }
  return inspectGeoPackage(PATH)[0]!.source as GeoPackageSource;
}
