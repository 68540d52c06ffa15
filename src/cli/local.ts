import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOCK_FILE } from '../core/files/data-folder.js';
import { LIMITS } from '../core/kit/limits.js';
import type { Pools } from '../core/tasks/tasks.js';
import Database from '../native/sqlite.js';
import { makeDataFolder } from '../stores/database/private-files.js';
import { REMOTE_ALLOW_VARIABLE } from '../workers/engine/settings.js';
import { createPools } from '../workers/pools/pools.js';
import { CommandError } from './command-error.js';

/** Workers for one command: vector threads here and an engine process, gone when the command ends. */
export async function withPools<T>(
  work: (pools: Pools) => Promise<T>,
  { vectorThreads = 1, remoteHosts = [] as readonly string[] } = {},
): Promise<T> {
  const runDir = mkdtempSync(join(tmpdir(), 'graticule-'));
  const engine = startEngine(runDir, remoteHosts);
  const connections = vectorThreads + 2;
  const pools = createPools({
    vectorThreads,
    maxQueue: 64,
    maxWaitMs: Infinity,
    heavyPerAddress: Infinity,
    connections,
    remoteHosts,
    processBytes: LIMITS.processMemoryBytes,
    runDir,
  });
  try {
    return await work(pools);
  } finally {
    await pools.close();
    engine.kill('SIGTERM');
    rmSync(runDir, { recursive: true, force: true });
  }
}

function startEngine(runDir: string, remoteHosts: readonly string[]): ChildProcess {
  return fork(
    new URL('../workers/entries/engine/main.js', import.meta.url),
    [join(runDir, 'engine-1-1.sock')],
    {
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '4',
        GDAL_NUM_THREADS: '1',
        [REMOTE_ALLOW_VARIABLE]: JSON.stringify(remoteHosts),
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
}

const PID_FILE = 'server.pid';

interface DataFolder {
  /** True when the last server did not end as it should have: it may have left processes behind. */
  readonly wasLeft: boolean;
  release(): void;
}

/**
 * Reserves a data folder for this server, and records the server in the folder, so that commands can notify it of
 * their changes. Fails if another server has reserved the folder, because its caches, jobs and edits would miss the
 * changes of this one. The lock is an SQLite lock: the operating system releases it however the process ends, and it
 * also works between containers.
 */
export function claimDataFolder(dataDir: string): DataFolder {
  const lock = openLock(dataDir);
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw notWritable(dataDir, error);
    const pid = findServerProcess(dataDir);
    const who = pid === undefined ? 'another server' : `the server with process id ${pid}`;
    throw new CommandError(`--data-dir: ${dataDir} is in use by ${who}. Stop it, or choose another folder.`);
  }
  const file = join(dataDir, PID_FILE);
  const wasLeft = existsSync(file);
  writeFileSync(file, String(process.pid));
  return {
    wasLeft,
    release() {
      rmSync(file, { force: true });
      lock.close();
    },
  };
}

function openLock(dataDir: string): Database.Database {
  try {
    makeDataFolder(dataDir);
    return new Database(join(dataDir, LOCK_FILE), { timeout: 0 });
  } catch (error) {
    throw notWritable(dataDir, error);
  }
}

function notWritable(dataDir: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new CommandError(
    `--data-dir: ${dataDir} cannot be written (${message}). Make it writable for this user, or choose another folder.`,
  );
}

/** Asks the server of a data folder, if one runs, to read its catalog again. */
export function notifyServer(dataDir: string): boolean {
  const pid = findServerProcess(dataDir);
  return pid !== undefined && process.kill(pid, 'SIGHUP');
}

/** Process id of the server that runs on a data folder. */
export function findServerProcess(dataDir: string): number | undefined {
  const file = join(dataDir, PID_FILE);
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, 'utf8'));
  try {
    // Only if the process is still our supervisor: its number may have been reused.
    const title = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return title.startsWith('graticule: supervisor') ? pid : undefined;
  } catch {
    return undefined;
  }
}
