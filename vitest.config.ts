import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { DURATIONS, LongestFirst } from './test/support/order.js';

/**
 * Files that call functions and start nothing, or only what they stop themselves. They keep nothing in modules, in the
 * environment or in the process, so that many of them share a process with the modules that it has loaded.
 */
const UNITS = [
  'test/access/*.test.ts',
  'test/admin/lease.test.ts',
  'test/core/*.test.ts',
  'test/cql2/*.test.ts',
  'test/layers/*.test.ts',
  'test/native/!(threads).test.ts',
  'test/stores/*.test.ts',
  'test/symbols/*.test.ts',
  'test/telemetry/*.test.ts',
  'test/workers/*.test.ts',
  'test/cache/(data-versions|item-replies|control|levels|tile-cache).test.ts',
  'test/edits/(access|areas|catalog|item-tag|lanes|policy|positions|values).test.ts',
  'test/engine/(lane|output|rooms|wire).test.ts',
  'test/http/(backlog|browser-pages|header-names|forwarding|no-content|request-lines|router|turns).test.ts',
  'test/streaming/(access|bad-input|formats|gaps|groups|peers|quotas|relay|sse).test.ts',
  'test/styles/(check|drawing-info|icon-files|sld-*|store|suggest).test.ts',
  'test/tile-jobs/parts.test.ts',
  'test/tiles/(byte-budget|images|make).test.ts',
];

/** A file that changes its process says so: other files would meet what it leaves. */
const OWN_PROCESS = [
  /\bvi\.(?!waitFor\b)/,
  /\bprocess\.env(\.\w+|\[[^\]]+\]) *\??\??=[^=]|delete process\.env/,
  /[^.]process\.(chdir|umask|on\(|once\(|title)/,
];

/** A file that calls code which may keep something in its modules. All others look at programs that they start, from outside. */
const OWN_CODE = [
  /from '(\.\.\/)+src\/(cli|console|gateway|native\/(index|postgres)|services|stores|supervisor|workers)/,
  // Calls such code for the tests beside it.
  /from '\.\/reference\.js'/,
];

const FILES = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name));

function findFiles(marks: readonly RegExp[]): string[] {
  return FILES.filter((file) => {
    const text = readFileSync(file, 'utf8');
    return marks.some((mark) => mark.test(text));
  });
}

const ALONE = findFiles(OWN_PROCESS);
const INSIDE = findFiles(OWN_CODE).filter((file) => !ALONE.includes(file));

const COMMON = {
  pool: 'forks',
  testTimeout: 180_000,
  hookTimeout: 180_000,
  setupFiles: ['test/support/patience.ts'],
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
          name: 'outside',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...UNITS, ...INSIDE, ...ALONE],
          isolate: false,
        },
      },
      {
        test: { ...HOSTS, name: 'inside', include: INSIDE, exclude: UNITS, isolate: false },
      },
      {
        test: { ...COMMON, name: 'alone', include: ALONE, exclude: UNITS },
      },
    ],
  },
});
