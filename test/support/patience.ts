import { vi } from 'vitest';

/**
 * Each request has a connection of its own. A test that computes or waits for a program blocks its process, and finds that the
 * server has closed an idle connection only after it has sent the next request there.
 */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const dispatchers = globalThis as unknown as Record<symbol, { constructor: new (options: object) => object }>;
// The dispatcher is there after the first request.
await fetch('data:,').catch(() => undefined);
if (dispatchers[DISPATCHER])
  dispatchers[DISPATCHER] = new dispatchers[DISPATCHER].constructor({ pipelining: 0 }) as never;

/**
 * `vi.waitFor` gives up after one second unless told otherwise. A second says how busy the machine is, and must not decide
 * a test: here the default is a minute.
 */
const MAX_MS = 60_000;

const { waitFor } = vi;
vi.waitFor = (check, options = MAX_MS) => waitFor(check, options);
