import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { build } from 'esbuild';
import { PbfReader } from 'pbf';

/** What readers that nobody here wrote find in tiles: `@mapbox/vector-tile`, and `@maplibre/mlt`. */

export type Position = [number, number];

export interface ReadFeature {
  id: number | undefined;
  /** 1 point, 2 line, 3 polygon. */
  type: number;
  properties: Record<string, unknown>;
  /** Positions of each point, line or ring. */
  geometry: Position[][];
}

export type ReadTile = Record<string, { extent: number; features: ReadFeature[] }>;

interface MltTable {
  name: string;
  extent: number;
  getFeatures(): {
    id: number | bigint | undefined;
    geometry: { type: number; coordinates: { x: number; y: number }[][] };
    properties: Record<string, unknown>;
  }[];
}

const positions = (parts: { x: number; y: number }[][]) =>
  parts.map((part) => part.map(({ x, y }): Position => [x, y]));

export function readMvt(tile: Uint8Array): ReadTile {
  const { layers } = new VectorTile(new PbfReader(tile));
  return Object.fromEntries(
    Object.entries(layers).map(([name, layer]) => {
      const features = Array.from({ length: layer.length }, (_, i): ReadFeature => {
        const feature = layer.feature(i);
        const { id, type, properties } = feature;
        return { id, type, properties: sorted(properties), geometry: positions(feature.loadGeometry()) };
      });
      return [name, { extent: layer.extent, features }];
    }),
  );
}

/** The reader of MapLibre's library, whose modules Node cannot load as they are. */
export async function mltReader(): Promise<(tile: Uint8Array) => ReadTile> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-mlt-'));
  const outfile = join(folder, 'mlt.mjs');
  const entry = join(import.meta.dirname, '../../../node_modules/@maplibre/mlt/dist/index.js');
  await build({ entryPoints: [entry], bundle: true, format: 'esm', outfile });
  const { decodeTile } = (await import(outfile)) as { decodeTile(tile: Uint8Array): MltTable[] };
  rmSync(folder, { recursive: true });
  return (tile) =>
    Object.fromEntries(
      decodeTile(tile).map((table) => {
        const features = table.getFeatures().map(
          ({ id, geometry, properties }): ReadFeature => ({
            id: id === undefined ? undefined : Number(id),
            type: (geometry.type % 3) + 1,
            properties: sorted(properties),
            geometry: positions(geometry.coordinates),
          }),
        );
        return [table.name, { extent: table.extent, features }];
      }),
    );
}

/** Numbers as readers of vector tiles have them. */
export function sorted(properties: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(properties).map(([name, value]): [string, unknown] => [
    name,
    typeof value === 'bigint' ? Number(value) : value,
  ]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
