import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gdalTool } from '../support/gdal-tools.js';
import type { TestServer } from '../support/server.js';

/** Metres per degree of longitude at 47 degrees north, about. */
const DEGREES_PER_METRE = 1 / 76_000;

export const BUILDINGS = 3000;
const COLUMNS = 60;

/** Longitude and latitude of the southwestern corner of a building. */
export const cornerOf = (i: number): [number, number] => [
  8 + (i % COLUMNS) * 30 * DEGREES_PER_METRE,
  47 + Math.floor(i / COLUMNS) * 30 * DEGREES_PER_METRE,
];

/** Writes squares of 20 m with heights as the GeoPackages buildings and secrets; every tenth has no height. */
export function makeBuildings(folder: string): void {
  const side = 20 * DEGREES_PER_METRE;
  const features = Array.from({ length: BUILDINGS }, (_, i) => {
    const [x, y] = cornerOf(i);
    const ring = [
      [x, y],
      [x + side, y],
      [x + side, y + side],
      [x, y + side],
      [x, y],
    ];
    return {
      type: 'Feature',
      id: i + 1,
      properties: {
        name: `house ${i + 1}`,
        owner: `owner ${i + 1}`,
        zone: i < BUILDINGS / 2 ? 'south' : 'north',
        height: i % 10 === 9 ? null : 5.5 + (i % 20),
      },
      geometry: { type: 'Polygon', coordinates: [ring] },
    };
  });
  const file = join(folder, 'buildings.geojson');
  writeFileSync(file, JSON.stringify({ type: 'FeatureCollection', features }));
  for (const name of ['buildings', 'secrets'])
    gdalTool('ogr2ogr', '-f', 'GPKG', '-nln', name, '-preserve_fid', join(folder, `${name}.gpkg`), file);
  rmSync(file);
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: documents of several operations.
  body: any;
}

/** Calls an operation of the management API. */
export function adminOf(server: Pick<TestServer, 'url' | 'adminKey'>) {
  return async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await fetch(`${server.url}/api/v1/admin${path}`, {
      method,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  };
}

interface TilesetTile {
  boundingVolume: { region: number[] };
  geometricError: number;
  content?: { uri: string };
  children?: TilesetTile[];
}

/** Tiles with a content, with their regions. Throws if a tile reaches beyond the region of its parent. */
export function listTiles({ root }: { root: TilesetTile }): { uri: string; region: number[] }[] {
  const found: { uri: string; region: number[] }[] = [];
  const visit = (tile: TilesetTile, parent: TilesetTile | undefined) => {
    const [west, south, east, north, low, high] = tile.boundingVolume.region as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    if (parent) {
      const [w, s, e, n, l, h] = parent.boundingVolume.region as [
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      const isInside = w <= west && s <= south && e >= east && n >= north && l <= low && h >= high;
      if (!isInside) throw new Error(`${JSON.stringify(tile.boundingVolume)} is not in its parent`);
      if (tile.geometricError > parent.geometricError) throw new Error('the error grows towards the leaves');
    }
    if (tile.content) found.push({ uri: tile.content.uri, region: tile.boundingVolume.region });
    for (const child of tile.children ?? []) visit(child, tile);
  };
  visit(root, undefined);
  return found;
}
