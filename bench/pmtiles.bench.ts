import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Compression, FetchSource, PMTiles, type Source } from 'pmtiles';
import { pmtilesTiles } from '../src/workers/providers/archive/pmtiles.js';
import { allowHosts } from '../src/workers/providers/archive/remote.js';
import { writePMTiles } from '../test/support/archives.js';
import { pin } from './support/core.js';
import { option, publish } from './support/report.js';

/**
 * Reading stored tiles of a PMTiles archive with Graticule's reader and with the package pmtiles: a file, and the same file
 * behind HTTP ranges. SYNTHETIC tiles of zoom 8 with leaf directories of 4,096 entries.
 */
const rounds = option('rounds', 7);
const fileTiles = option('tiles', 20_000);
const remoteTiles = fileTiles / 10;
const ZOOM = 8;
const SIDE = 2 ** ZOOM;
const READERS = 16;

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const path = join(folder, 'tiles.pmtiles');
const tiles = Array.from({ length: SIDE * SIDE }, (_, i) => {
  const data = Buffer.alloc(300 + ((i * 7919) % 3000), i);
  return { zoom: ZOOM, row: Math.floor(i / SIDE), column: i % SIDE, data };
});
writePMTiles(path, tiles, { leafSize: 4096, tileType: 2, tileCompression: 1 });

/** Size of a tile. */
type Read = (row: number, column: number) => Promise<number>;

const HOST = `
const { createServer } = require('node:http');
const { readFileSync } = require('node:fs');
const bytes = readFileSync(process.argv[1]);
const server = createServer((request, response) => {
  const [, first, last] = /bytes=(\\d+)-(\\d+)/.exec(request.headers.range).map(Number);
  const part = bytes.subarray(first, last + 1);
  const range = 'bytes ' + first + '-' + (first + part.length - 1) + '/' + bytes.length;
  response.writeHead(206, { etag: '"1"', 'content-range': range, 'content-length': part.length }).end(part);
}).listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

async function startHost(): Promise<{ url: string; stop(): void }> {
  const child = spawn('taskset', ['-c', '0', 'node', '-e', HOST, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    url: `http://127.0.0.1:${String(port).trim()}/tiles.pmtiles`,
    stop: () => void child.kill('SIGTERM'),
  };
}

async function ours(place: string): Promise<Read> {
  const tile = await pmtilesTiles(place);
  return async (row, column) => {
    const read = tile({ zoom: ZOOM, row, column });
    return (read instanceof Promise ? await read : read).data.byteLength;
  };
}

/** The package as it comes, but with the tile as it is stored. */
function packaged(source: Source): Read {
  const stored = async (data: ArrayBuffer, _: Compression) => data;
  const archive = new PMTiles(source, undefined, stored);
  return async (row, column) => (await archive.getZxy(ZOOM, column, row))!.data.byteLength;
}

const fd = openSync(path, 'r');
const fileSource: Source = {
  getKey: () => path,
  getBytes: async (offset, length) => {
    const bytes = new Uint8Array(length);
    const read = readSync(fd, bytes, 0, length, offset);
    return { data: bytes.buffer.slice(0, read) };
  },
};

/** Microseconds of CPU of this process for a tile. */
async function cpuOf(read: Read, count: number, readers: number): Promise<number> {
  const before = process.cpuUsage();
  const part = async (from: number) => {
    for (let i = from; i < count; i += readers) {
      const at = (i * 40_503 + 7) % tiles.length;
      const size = await read(Math.floor(at / SIDE), at % SIDE);
      if (size !== tiles[at]!.data.length) throw new Error(`tile ${at} has ${size} bytes`);
    }
  };
  await Promise.all(Array.from({ length: readers }, (_, i) => part(i)));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

pin(1);
const host = await startHost();
allowHosts(['127.0.0.1']);
const cases = {
  'file, Graticule': [await ours(path), fileTiles, 1],
  'file, pmtiles': [packaged(fileSource), fileTiles, 1],
  'HTTP, Graticule': [await ours(host.url), remoteTiles, 1],
  'HTTP, pmtiles': [packaged(new FetchSource(host.url)), remoteTiles, 1],
  'HTTP, 16 at a time, Graticule': [await ours(host.url), remoteTiles, READERS],
  'HTTP, 16 at a time, pmtiles': [packaged(new FetchSource(host.url)), remoteTiles, READERS],
} satisfies Record<string, [Read, number, number]>;
const figures = Object.keys(cases).map((name) => ({ name, rounds: { 'CPU us/tile': [] as number[] } }));
for (let round = 0; round <= rounds; round++)
  for (const [i, work] of Object.values(cases).entries()) {
    const cpu = await cpuOf(...work);
    if (round > 0) figures[i]!.rounds['CPU us/tile'].push(cpu);
  }
host.stop();
closeSync(fd);
rmSync(folder, { recursive: true });

publish({
  bench: 'pmtiles',
  command: `./run bench pmtiles --rounds ${rounds} --tiles ${fileTiles}`,
  about: `${fileTiles} tiles of a PMTiles file and ${remoteTiles} of the same file behind HTTP ranges, read with Graticule's reader and with the package pmtiles. SYNTHETIC tiles of 300 to 3,300 bytes, shuffled; reader on core 1, host on core 0.`,
  figures,
  ratios: ['file', 'HTTP', 'HTTP, 16 at a time'].map((what, i) => {
    const [own, other] = [figures[2 * i]!, figures[2 * i + 1]!].map(({ rounds }) => rounds['CPU us/tile']);
    return {
      what: `${what}, CPU: pmtiles / Graticule`,
      rounds: own!.map((cpu, n) => other![n]! / cpu),
      goal: 1,
    };
  }),
});
