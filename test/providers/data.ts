import type { Feature, FeatureCollection, Geometry } from 'geojson';
import { geojsonToWkb } from '../../src/native/index.js';
import type { Cell, Column } from '../cql2/stores.js';
import { randomSource } from '../native/support.js';

/** The data of the suite: 60 things around the world, some across the antimeridian's sides, some values missing. */

export const COLUMNS: readonly Column[] = [
  { name: 'name', type: 'string' },
  { name: 'floors', type: 'integer' },
  { name: 'height', type: 'number' },
  { name: 'built', type: 'date' },
  { name: 'active', type: 'boolean' },
];

export interface Thing extends Feature {
  id: number;
  properties: { name: string; floors: number | null; height: number; built: string; active: boolean };
}

const COUNT = 60;
const random = randomSource(17);
const between = (low: number, high: number) => Math.round((low + random() * (high - low)) * 8) / 8;

function geometryOf(i: number): Geometry {
  const [x, y] = [between(-179, 178), between(-70, 70)];
  if (i % 3 === 0) return { type: 'Point', coordinates: [x, y] };
  if (i % 3 === 1)
    return {
      type: 'LineString',
      coordinates: [
        [x, y],
        [x + 1, y + 0.5],
        [x + 1, y + 1],
      ],
    };
  return {
    type: 'Polygon',
    coordinates: [
      [
        [x, y],
        [x + 1, y],
        [x + 1, y + 1],
        [x, y + 1],
        [x, y],
      ],
    ],
  };
}

export const THINGS: readonly Thing[] = Array.from({ length: COUNT }, (_, i) => ({
  type: 'Feature',
  id: i + 1,
  geometry: geometryOf(i),
  properties: {
    name: `${['Hall', 'tower', 'Østre', "Miller's"][i % 4]} ${i % 7}`,
    floors: i % 9 === 0 ? null : i % 12,
    height: between(2, 90),
    built: `19${10 + (i % 80)}-0${1 + (i % 9)}-15`,
    active: i % 2 === 0,
  },
}));

export const collection: FeatureCollection = { type: 'FeatureCollection', features: [...THINGS] };

/** The same as rows of a table. */
export const rows: Cell[][] = THINGS.map(({ geometry, properties }) => [
  geojsonToWkb(geometry, { from: 'OGC:CRS84', to: 'OGC:CRS84' }),
  ...COLUMNS.map(({ name }) => properties[name as keyof Thing['properties']]),
]);
