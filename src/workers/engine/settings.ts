/** Settings of an engine process, from its command line and environment. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Environment variable of the engine's threads: the prefix of the paths of their temporary files. */
export const SCRATCH_VARIABLE = 'GRATICULE_ENGINE_SCRATCH';

/**
 * Returns the prefix of the paths of temporary files. Outside an engine they are in the system's temporary folder.
 */
export const scratchStem = (): string => process.env[SCRATCH_VARIABLE] ?? join(tmpdir(), 'graticule-scratch');

/** Environment variable of an engine: the allowed remote hosts, as a JSON array. */
export const REMOTE_ALLOW_VARIABLE = 'GRATICULE_REMOTE_ALLOW';

/** Environment of an engine: the data folder of the server. */
export const OWN_FOLDER_VARIABLE = 'GRATICULE_OWN_FOLDER';

export interface EngineSettings {
  /** Unix socket to listen on. */
  socketPath: string;
  rasterConcurrency: number;
  mapConcurrency: number;
  maxQueue: number;
  /** Milliseconds that a task may run on after it was given up, before the engine is replaced. */
  graceMs: number;
  /** Longest time for running tasks to finish when the engine ends. */
  drainMs: number;
  /** Resident memory above which the engine is replaced. */
  rssLimitBytes: number;
  rssCheckMs: number;
}

/** Throws on a missing socket path or a malformed number. */
export function engineSettings(socketPath: string | undefined, env: NodeJS.ProcessEnv): EngineSettings {
  if (!socketPath) throw new Error('The engine needs the path of its socket.');
  const number = (name: string, fallback: number) => {
    const text = env[name];
    if (text === undefined || text === '') return fallback;
    const value = Number(text);
    if (!Number.isFinite(value) || value <= 0) throw new Error(`${name} needs a positive number.`);
    return value;
  };
  return {
    socketPath,
    rasterConcurrency: number('GRATICULE_ENGINE_RASTER_TASKS', 8),
    mapConcurrency: number('GRATICULE_ENGINE_MAP_TASKS', 8),
    maxQueue: number('GRATICULE_ENGINE_QUEUE', 1024),
    graceMs: number('GRATICULE_ENGINE_GRACE_MS', 10_000),
    drainMs: number('GRATICULE_ENGINE_DRAIN_MS', 8_000),
    rssLimitBytes: number('GRATICULE_ENGINE_RSS_MB', 1536) * (1 << 20),
    rssCheckMs: number('GRATICULE_ENGINE_RSS_CHECK_MS', 2000),
  };
}
