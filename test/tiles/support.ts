import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { expect } from 'vitest';
import type { TestServer } from '../support/server.js';

/** Asking a server for tiles, and reading them. */
export interface TileClient {
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  status(path: string): Promise<number>;
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
  json(path: string): Promise<any>;
  /** Layers of a vector tile; none when it is empty. */
  tile(path: string): Promise<VectorTile['layers']>;
  /** The integer that tiles know a collection by. */
  layerId(name: string): Promise<number>;
}

const TILES = '/ogc/tiles';

/** Paths that do not begin with a scheme are below /ogc/tiles. */
export function tileClient(server: () => TestServer): TileClient {
  const get: TileClient['get'] = (path, headers = {}) =>
    fetch(path.startsWith('http') ? path : `${server().url}${TILES}${path}`, { headers });
  const json: TileClient['json'] = async (path) => {
    const response = await get(path);
    expect(response.status, path).toBe(200);
    return response.json();
  };
  return {
    get,
    json,
    status: async (path) => (await get(path)).status,
    async tile(path) {
      const response = await get(path);
      expect([200, 204], `${path}: ${response.status}`).toContain(response.status);
      if (response.status === 204) return {};
      return new VectorTile(new PbfReader(new Uint8Array(await response.arrayBuffer()))).layers;
    },
    async layerId(name) {
      const { collections } = await json('/collections');
      return Number(collections.find((one: { name: string }) => one.name === name).id);
    },
  };
}

/** Values of an attribute in a layer, sorted. */
export function valuesOf(layer: VectorTile['layers'][string] | undefined, name: string): unknown[] {
  if (!layer) return [];
  return Array.from({ length: layer.length }, (_, i) => layer.feature(i).properties[name]).sort();
}
