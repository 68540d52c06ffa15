import { readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { GeoJSONVT } from '@maplibre/geojson-vt';
import { fromGeojsonVt } from '@maplibre/vt-pbf';
import { geoArea, geoEquirectangular } from 'd3-geo';
import { geoProject } from 'd3-geo-projection';
import gdal from 'gdal-async';
import polylabel from 'polylabel';
import { feature, mesh } from 'topojson-client';
import { topology } from 'topojson-server';
import Database from '../../dist/native/sqlite.js';

/**
 * Makes the base map of the pages from Natural Earth: vector tiles (`basemap.mbtiles`) with the layers `land`, `coast`,
 * `borders`, `regions` (borders within countries) and `names`, and the picture behind extents (`world.svg`).
 */
const require = createRequire(import.meta.url);

/** Tiles of these zooms are made of these scales; further in, browsers magnify the last. */
const SCALES = [
  { scale: '110m', from: 0, to: 1 },
  { scale: '50m', from: 2, to: 4 },
  { scale: '10m', from: 5, to: 6 },
];
/** Of the picture of the world. */
const PICTURE_SCALE = '110m';
/** Regions are many: they are there from this zoom on. */
const REGIONS_FROM = 3;

/** Degrees, without points in between. */
const PLANE = geoEquirectangular()
  .scale(180 / Math.PI)
  .translate([0, 0])
  .reflectY(true)
  .precision(0);

/** Files of packages that became a part of what `writeBasemap` writes. */
export const BASEMAP_INPUTS = [PICTURE_SCALE, ...SCALES.map(({ scale }) => scale)].map((scale) =>
  require.resolve(`world-atlas/countries-${scale}.json`),
);

export async function writeBasemap(path, demoData) {
  await rm(path, { force: true });
  const db = new Database(path);
  db.exec(`CREATE TABLE metadata (name TEXT, value TEXT);
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB,
      PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID`);
  const insert = db.prepare('INSERT INTO tiles VALUES (?, ?, ?, ?)');
  const metadata = db.prepare('INSERT INTO metadata VALUES (?, ?)');
  for (const row of Object.entries({ name: 'Base map', format: 'mvt', minzoom: '0', maxzoom: '6' }))
    metadata.run(...row);
  const regions = regionsOf(join(demoData, 'world_map.gpkg'));
  const write = db.transaction((zoom, layers) => {
    for (const { column, row, data } of tilesOf(zoom, layers))
      insert.run(zoom, column, 2 ** zoom - 1 - row, data);
  });
  for (const { scale, from, to } of SCALES) {
    const world = await worldOf(scale);
    for (let zoom = from; zoom <= to; zoom++) write(zoom, layersAt(zoom, world, regions));
  }
  db.exec('VACUUM');
  db.close();
}

/** Land as one path of degrees, y downwards: what is small in a picture of the world is left out. */
export async function writeWorldPicture(path) {
  const { land } = await worldOf(PICTURE_SCALE);
  const parts = land.features.flatMap(({ geometry }) => polygonsOf(geometry));
  const rings = parts.flat().map((ring) => `M${ring.map(([x, y]) => `${round(x)} ${round(-y)}`).join('L')}Z`);
  const style = 'path{fill:#d9ddd3}@media(prefers-color-scheme:dark){path{fill:#2c3a3d}}';
  await writeFile(
    path,
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-180 -90 360 180" width="360" height="180"><style>${style}</style><path d="${rings.join('')}"/></svg>\n`,
  );
}

const round = (degrees) => Math.round(degrees * 10) / 10;

/** Countries and regions by name, with boxes of their parts, to search by. */
export async function writePlaces(path, demoData) {
  const world = await worldOf('50m');
  const regions = regionsOf(join(demoData, 'world_map.gpkg'));
  await writeFile(path, JSON.stringify([...world.places, ...regions.places]));
}

/** Boxes of the parts that matter: islands far away would make the box of a country that of an ocean. */
function placeOf(name, geometry) {
  if (!name || !geometry) return [];
  const parts = polygonsOf(geometry).map(([ring]) => ({ ring, area: areaOf(ring) }));
  const largest = Math.max(...parts.map(({ area }) => area));
  const boxes = parts
    .filter(({ area }) => area > largest / 50)
    .map(({ ring }) => {
      const [xs, ys] = [ring.map(([x]) => x), ring.map(([, y]) => y)];
      return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)].map(round);
    });
  return [[name, boxes]];
}

async function worldOf(scale) {
  const atlas = JSON.parse(await readFile(require.resolve(`world-atlas/countries-${scale}.json`), 'utf8'));
  const { countries, land } = atlas.objects;
  const states = flattened(feature(atlas, countries)).features;
  return {
    // The smallest scale has no Caspian Sea in its land, only in its countries.
    land:
      scale === '110m'
        ? collection(states.map(({ geometry }) => ({ type: 'Feature', properties: {}, geometry })))
        : flattened(feature(atlas, land)),
    coast: whole(flattened(mesh(atlas, countries, (a, b) => a === b))),
    borders: whole(flattened(mesh(atlas, countries, (a, b) => a !== b))),
    names: states.flatMap((one) => nameOf(one.properties.name, one.geometry, 'country')),
    places: states.flatMap((one) => placeOf(one.properties.name, one.geometry)),
  };
}

/** Borders and names of states and provinces, between those of one country only. */
function regionsOf(path) {
  const features = [];
  const dataset = gdal.open(path);
  dataset.layers.get('states_provinces').features.forEach((one) => {
    const { name, adm0_a3: country } = one.fields.toObject();
    const geometry = JSON.parse(one.getGeometry().toJSON());
    features.push({ type: 'Feature', properties: { name, country }, geometry });
  });
  dataset.close();
  const shared = topology({ regions: collection(features) }, 1e5);
  const isInner = (a, b) => a !== b && a.properties.country === b.properties.country;
  return {
    borders: whole(mesh(shared, shared.objects.regions, isInner)),
    names: features.flatMap(({ properties, geometry }) => nameOf(properties.name, geometry, 'region')),
    places: features.flatMap(({ properties, geometry }) => placeOf(properties.name, geometry)),
  };
}

function layersAt(zoom, world, regions) {
  const { land, coast, borders } = world;
  const hasRegions = zoom >= REGIONS_FROM;
  // What is too small to be read at a zoom is not sent.
  const legible = ({ properties }) => properties.size * 2 ** zoom > (properties.kind === 'country' ? 10 : 40);
  const names = [...world.names, ...(hasRegions ? regions.names : [])].filter(legible);
  return {
    land,
    coast,
    borders,
    names: collection(names),
    ...(hasRegions ? { regions: regions.borders } : {}),
  };
}

/** Tiles of one zoom; those that are all sea are left out. */
function* tilesOf(zoom, layers) {
  const options = { maxZoom: zoom, indexMaxZoom: zoom, indexMaxPoints: 0, tolerance: 3, buffer: 64 };
  const indexes = Object.entries(layers).map(([name, data]) => [name, new GeoJSONVT(data, options)]);
  for (let column = 0; column < 2 ** zoom; column++) {
    for (let row = 0; row < 2 ** zoom; row++) {
      const found = indexes.flatMap(([name, index]) => {
        const tile = index.getTile(zoom, column, row);
        return tile && tile.features.length > 0 ? [[name, tile]] : [];
      });
      if (found.length === 0) continue;
      const bytes = fromGeojsonVt(Object.fromEntries(found), { version: 2 });
      yield { column, row, data: gzipSync(bytes, { level: 9 }) };
    }
  }
}

/** A point within the largest part, with the side of that part in degrees: greater names go first. */
function nameOf(name, geometry, kind) {
  if (!name || !geometry) return [];
  const largest = polygonsOf(geometry)
    .map((polygon) => ({ polygon, area: areaOf(polygon[0]) }))
    .sort((a, b) => b.area - a.area)[0];
  if (!largest) return [];
  const [x, y] = polylabel(largest.polygon, 0.1);
  const size = Math.round(Math.sqrt(largest.area) * 10) / 10;
  const coordinates = [x, y];
  return [{ type: 'Feature', properties: { name, kind, size }, geometry: { type: 'Point', coordinates } }];
}

/** Square degrees, of the size that they have at their latitude. */
function areaOf(ring) {
  let sum = 0;
  let latitudes = 0;
  for (let i = 0; i + 1 < ring.length; i++) {
    sum += ring[i][0] * ring[i + 1][1] - ring[i + 1][0] * ring[i][1];
    latitudes += ring[i][1];
  }
  return (Math.abs(sum) / 2) * Math.cos(((latitudes / ring.length) * Math.PI) / 180);
}

/** The atlas goes around the globe: this cuts it at the antimeridian and the poles, into degrees on a plane. */
function flattened(object) {
  if (object.type === 'FeatureCollection') return collection(object.features.map(flattened));
  if (object.type === 'Feature') return { ...object, geometry: flattened(object.geometry) };
  return geoProject(wound(object), PLANE);
}

/** Small rings of the atlas may run the wrong way around, which on a globe is all the rest of it. */
function wound(geometry) {
  const polygons = polygonsOf(geometry);
  if (polygons.length === 0) return geometry;
  const isRest = (ring) => geoArea({ type: 'Polygon', coordinates: [ring] }) > 2 * Math.PI;
  const coordinates = polygons.map((rings) =>
    rings.map((ring, i) => (isRest(ring) === (i === 0) ? ring.toReversed() : ring)),
  );
  return { type: 'MultiPolygon', coordinates };
}

function polygonsOf({ type, coordinates }) {
  if (type === 'Polygon') return [coordinates];
  return type === 'MultiPolygon' ? coordinates : [];
}

const collection = (features) => ({ type: 'FeatureCollection', features });
const whole = (geometry) => collection([{ type: 'Feature', properties: {}, geometry }]);
