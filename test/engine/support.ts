/** Engines, vector tiles and scratch directories for the tests of the workers. */

import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import type { RasterSource } from '../../src/core/rasters/rasters.js';
import { EnginePool } from '../../src/workers/engine/client.js';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const LANDSAT = join(ROOT, 'demo/data/L7_ETMs.tif');
export const DEM = join(ROOT, 'demo/data/olinda_dem_utm25s.tif');
export const ENGINE = join(ROOT, 'dist/workers/entries/engine/main.js');

export function scratchDirectory(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'graticule-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export interface RunningEngine {
  process: ChildProcess;
  socket: string;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stop(): Promise<void>;
}

/** Starts an engine process as the supervisor does, and waits until it serves. */
export async function startEngine(
  runDir: string,
  name = '1',
  env: Record<string, string> = {},
): Promise<RunningEngine> {
  const socket = join(runDir, `engine-${name}.sock`);
  const child = fork(ENGINE, [socket], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '4', GDAL_NUM_THREADS: '1', ...env },
    execArgv: [],
  });
  const exited: RunningEngine['exited'] = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  );
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message: { type: string }) => {
      if (message.type === 'ready') resolve();
      // What the supervisor does once a successor serves.
      if (message.type === 'replace') child.send({ type: 'drain' });
    });
    void exited.then(() => reject(new Error('The engine ended before it was ready.')));
  });
  return {
    process: child,
    socket,
    exited,
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
      rmSync(socket, { force: true });
    },
  };
}

/** The raster that a file is. */
export const fileRaster = (path: string): RasterSource => ({ kind: 'file', path });

/** An engine with a pool that sends to it, for all tests of a file. */
export interface SuiteEngine {
  readonly scratch: { readonly path: string };
  readonly engine: RunningEngine;
  readonly pool: EnginePool;
}

/** Starts an engine before the tests of this file, and stops it after them. */
export function suiteEngine(env: Record<string, string> = {}): SuiteEngine {
  const scratch = scratchDirectory();
  const suite = { scratch } as { scratch: typeof scratch; engine: RunningEngine; pool: EnginePool };
  beforeAll(async () => {
    suite.engine = await startEngine(scratch.path, '1', env);
    suite.pool = new EnginePool({ runDir: scratch.path });
  });
  afterAll(async () => {
    await suite.pool.close();
    await suite.engine.stop();
    scratch.remove();
  });
  return suite;
}

/** Resolves when `condition` holds; throws after `timeoutMs`. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const until = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error('The condition did not come true in time.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export type Ring = [number, number][];
export type TileGeometry =
  | { type: 'polygon'; ring: Ring }
  | { type: 'line'; line: Ring }
  | { type: 'point'; point: [number, number] };

/** Hand-made Mapbox vector tile 2.1 of one layer; rings are given without the closing point. */
export function vectorTile(name: string, geometries: TileGeometry[], extent = 4096): Uint8Array {
  const layer: number[] = [];
  field(layer, 15, [2]);
  bytesField(layer, 1, [...Buffer.from(name)]);
  for (const geometry of geometries) bytesField(layer, 2, feature(geometry));
  field(layer, 5, [extent]);
  const tile: number[] = [];
  bytesField(tile, 3, layer);
  return Uint8Array.from(tile);
}

const TYPES = { point: 1, line: 2, polygon: 3 } as const;

function feature(geometry: TileGeometry): number[] {
  const points =
    geometry.type === 'polygon' ? geometry.ring : geometry.type === 'line' ? geometry.line : [geometry.point];
  const commands: number[] = [];
  let [x, y] = [0, 0];
  points.forEach(([px, py], index) => {
    if (index === 0) commands.push(9);
    if (index === 1) commands.push(((points.length - 1) << 3) | 2);
    commands.push(zigzag(px - x), zigzag(py - y));
    [x, y] = [px, py];
  });
  if (geometry.type === 'polygon') commands.push(15);
  const bytes: number[] = [];
  for (const command of commands) varint(bytes, command);
  const body: number[] = [];
  field(body, 3, [TYPES[geometry.type]]);
  bytesField(body, 4, bytes);
  return body;
}

function zigzag(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

function varint(into: number[], value: number): void {
  let rest = value;
  while (rest > 127) {
    into.push((rest & 127) | 128);
    rest = Math.floor(rest / 128);
  }
  into.push(rest);
}

function field(into: number[], number: number, [value]: [number]): void {
  varint(into, number << 3);
  varint(into, value);
}

function bytesField(into: number[], number: number, bytes: number[]): void {
  varint(into, (number << 3) | 2);
  varint(into, bytes.length);
  for (const byte of bytes) into.push(byte);
}
