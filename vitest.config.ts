import { defineConfig } from 'vitest/config';
import { DURATIONS, LongestFirst } from './test/support/order.js';

/**
 * Files that call functions and start nothing, or only what they stop themselves. They keep nothing in modules, in the
 * environment or in the process, so many of them share a process and its loaded modules.
 */
const UNITS = ['test/{cql2,layers,native}/**/*.test.ts', 'test/**/unit/*.test.ts'];

/** Files that change their environment or their process, or replace functions: each has its own process. */
const ALONE = ['test/**/alone/*.test.ts'];

const COMMON = {
  pool: 'forks',
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // The default of a second says how busy the machine is.
  expect: { poll: { timeout: 60_000 } },
  setupFiles: ['test/support/patience.ts', 'test/support/processor-time.ts'],
  // Tools of GDAL that tests call would write statistics beside the data.
  env: { GDAL_PAM_ENABLED: 'NO' },
} as const;

/** Servers of a test process follow each other in one process, where nothing is against it. */
const HOSTS = { ...COMMON, env: { ...COMMON.env, GRATICULE_TEST_HOSTS: '1' } } as const;

export default defineConfig({
  test: {
    globalSetup: 'test/support/run.ts',
    // What was compiled for one process, and in the run before, is not compiled again.
    experimental: { fsModuleCache: true },
    // Every file has ports and folders of its own. Most wait for servers and browsers half of the time.
    maxWorkers: 4,
    // Projects follow each other in the order of their names, and none waits for the last file of another: units fill the end.
    ...(DURATIONS ? { sequence: { sequencer: LongestFirst } } : {}),
    projects: [
      {
        test: { ...COMMON, name: 'units', include: UNITS, isolate: false },
      },
      {
        test: {
          ...HOSTS,
          name: 'servers',
          include: ['test/**/*.test.ts'],
          exclude: [...UNITS, ...ALONE],
          isolate: false,
        },
      },
      {
        test: { ...COMMON, name: 'alone', include: ALONE },
      },
    ],
  },
});
