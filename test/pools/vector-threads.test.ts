import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/core/kit/callers.js';
import Database from '../../src/native/sqlite.js';
import type { VectorPool, VectorPoolOptions } from '../../src/workers/pools/vector/pool.js';

/** Threads are made from the build output. */
const built = pathToFileURL(
  fileURLToPath(new URL('../../dist/workers/pools/vector/pool.js', import.meta.url)),
).href;
const { VectorPool: Pool } = (await import(built)) as { VectorPool: typeof VectorPool };

/** Longer than any test, so that no pause of the machine decides. */
const ENDLESS_MS = 3_600_000;

let pool: VectorPool;
/** Threads of other test files, which share this process. */
let others = 0;
beforeEach(() => {
  others = countThreads();
});
afterEach(() => pool.close());

function open(options: Partial<VectorPoolOptions>): VectorPool {
  return (pool = new Pool({
    threads: 2,
    maxQueue: 4,
    maxWaitMs: ENDLESS_MS,
    connections: 2,
    ...options,
  }));
}

const check = (caller?: Caller) => pool.run('vector.fileFindings', {}, caller ? { caller } : {});

function countThreads(): number {
  const { workers } = process.report.getReport() as unknown as { workers: unknown[] };
  return workers.length;
}

describe('threads of the vector pool', () => {
  it('do not start before their first task', () => {
    open({});
    expect(countThreads() - others).toBe(0);
  });

  it('are shared by background tasks that come at the same time', async () => {
    open({ patienceMs: ENDLESS_MS });
    await Promise.all([check(), check(), check()]);
    expect(countThreads() - others).toBe(1);
  });

  it('start for requests without a wait', async () => {
    open({ patienceMs: ENDLESS_MS });
    const caller: Caller = { class: 'anonymous', id: '192.0.2.1' };
    await Promise.all([check(caller), check(caller)]);
    expect(countThreads() - others).toBe(2);
  });

  it('start for many background tasks without a wait', async () => {
    open({ patienceMs: ENDLESS_MS });
    await Promise.all(Array.from({ length: 12 }, () => check()));
    expect(countThreads() - others).toBe(2);
  });

  it('start for background work that has waited for a thread', async () => {
    open({});
    const folder = mkdtempSync(join(tmpdir(), 'graticule-threads-'));
    const path = join(folder, 'items.gpkg');
    const part = { collection: 'a', stamp: '1', content: { kind: 'items' as const, items: [] } };
    await pool.run('vector.stacIndex', { path, parts: [part] });
    const writer = new Database(path);
    writer.exec('BEGIN IMMEDIATE');
    let isOver = false;
    // It removes the part, and waits five minutes for the other writer.
    const blocked = pool.run('vector.stacState', { path, stamps: {} }).finally(() => (isOver = true));
    await check();
    expect(isOver).toBe(false);
    writer.exec('ROLLBACK');
    writer.close();
    expect(await blocked).toEqual({ stale: [], fields: {} });
    rmSync(folder, { recursive: true });
  });
});
