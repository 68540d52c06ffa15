import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Position, type ReadFeature, type ReadTile, sorted } from './support.js';

/** MapLibre Tiles by the crate mlt-core (test/tiles/mlt/rust), which `./run test` compiles. */

const SOURCES = ['Cargo.toml', 'Cargo.lock', 'src/main.rs'].map((name) =>
  join(import.meta.dirname, 'rust', name),
);

function peer(): string {
  const cache = process.env['GRATICULE_CACHE'] ?? join(homedir(), '.cache/graticule');
  const key = createHash('sha256')
    .update(Buffer.concat(SOURCES.map((path) => readFileSync(path))))
    .digest('hex')
    .slice(0, 16);
  const program = join(cache, `mlt-peer-${key}`, 'debug/mlt-peer');
  if (!existsSync(program)) throw new Error('mlt-core is not compiled: run ./run test once.');
  return program;
}

/** Waits without holding up this process, whose connections would go stale. */
async function run(act: string, tiles: readonly Uint8Array[]): Promise<Buffer> {
  const child = spawn(peer(), [act], { stdio: ['pipe', 'pipe', 'inherit'] });
  for (const tile of tiles) {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(tile.length);
    child.stdin.write(length);
    child.stdin.write(tile);
  }
  child.stdin.end();
  const exit = once(child, 'exit');
  const out = await buffer(child.stdout);
  const [code] = await exit;
  if (code !== 0) throw new Error(`mlt-core ended with ${code}.`);
  return out;
}

type Coordinates = Position | Coordinates[];
interface PeerFeature {
  id?: number;
  geometry: { type: string; coordinates: Coordinates };
  properties: Record<string, unknown> & { _layer: string; _extent: number };
}

const KINDS = ['Point', 'LineString', 'Polygon'];
/** Lists around the positions of a geometry, until they are those of its parts. */
const DEPTHS: Record<string, number> = { Point: -2, LineString: -1, MultiPoint: -1, MultiPolygon: 1 };

function parts({ type, coordinates }: PeerFeature['geometry']): Position[][] {
  const depth = DEPTHS[type] ?? 0;
  if (type === 'MultiPoint') return (coordinates as Position[]).map((position) => [position]);
  if (depth > 0) return (coordinates as Position[][][]).flat();
  return (depth === -2 ? [[coordinates]] : depth === -1 ? [coordinates] : coordinates) as Position[][];
}

function featureOf({
  id,
  geometry,
  properties: { _layer, _extent, ...properties },
}: PeerFeature): ReadFeature {
  const type = KINDS.indexOf(geometry.type.replace('Multi', '')) + 1;
  return { id, type, properties: sorted(properties), geometry: parts(geometry) };
}

/** What mlt-core finds in MapLibre Tiles. */
export async function readByRust(tiles: readonly Uint8Array[]): Promise<ReadTile[]> {
  const lines = (await run('read', tiles)).toString().trimEnd().split('\n');
  return lines.map((line) => {
    const tile: ReadTile = {};
    for (const feature of (JSON.parse(line) as { features: PeerFeature[] }).features) {
      const { _layer, _extent } = feature.properties;
      tile[_layer] ??= { extent: _extent, features: [] };
      tile[_layer].features.push(featureOf(feature));
    }
    return tile;
  });
}

/** Vector tiles as MapLibre Tiles by mlt-core, with FastPFOR, FSST, shared dictionaries and perhaps triangles. */
export async function writeByRust(tiles: readonly Uint8Array[], triangles: boolean): Promise<Buffer[]> {
  const out = await run(triangles ? 'write-triangles' : 'write', tiles);
  const all: Buffer[] = [];
  for (let at = 0; at < out.length; ) {
    const end = at + 4 + out.readUInt32LE(at);
    all.push(out.subarray(at + 4, end));
    at = end;
  }
  return all;
}
