import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { answers, type BenchServer } from './server.js';

/** Where TiTiler and its tools are, once they are installed. */
export const TITILER = resolve('.cache/peers/titiler/bin');
export const hasTitiler = (): boolean => existsSync(join(TITILER, 'uvicorn'));

/** Settings that TiTiler's documentation advises. */
const ENVIRONMENT = {
  GDAL_CACHEMAX: '200',
  GDAL_DISABLE_READDIR_ON_OPEN: 'EMPTY_DIR',
  GDAL_INGESTED_BYTES_AT_OPEN: '32768',
  VSI_CACHE: 'TRUE',
  GDAL_NUM_THREADS: '1',
};

/** Starts TiTiler with two workers on core 0; undefined where it is not installed. */
export async function startTitiler(
  port: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchServer | undefined> {
  if (!hasTitiler()) return undefined;
  // Other servers have their turns of a run in between; a connection that is kept should outlast them.
  const options = ['--workers', '2', '--timeout-keep-alive', '600', '--log-level', 'error'];
  const args = ['titiler.application.main:app', '--port', String(port), ...options];
  const child = spawn('taskset', ['-c', '0', join(TITILER, 'uvicorn'), ...args], {
    stdio: 'ignore',
    env: { ...process.env, ...ENVIRONMENT, ...settings },
  });
  const origin = `http://127.0.0.1:${port}`;
  await answers(`${origin}/healthz`, child);
  return { origin, pid: child.pid!, stop: async () => void child.kill('SIGTERM') };
}
