import { expect, it } from 'vitest';

const { touchedTests } = (await import('../touched.mjs' as string)) as {
  touchedTests(change: {
    changed: string[];
    imports: Map<string, string[]>;
    units: Set<string>;
    durations: Record<string, number>;
    reads?: (test: string, path: string) => boolean;
  }): { chosen: string[]; left: string[]; unknown: string[] };
};

const IMPORTS = new Map([
  ['src/core/geometry/box.ts', []],
  ['src/services/tiles/make.ts', ['src/core/geometry/box.ts']],
  ['src/gateway/tiles.ts', ['src/services/tiles/make.ts']],
  ['test/geometry/unit/box.test.ts', ['src/gateway/tiles.ts']],
  ['test/support/world.ts', ['src/gateway/tiles.ts']],
  ['test/maps/near.test.ts', ['src/gateway/tiles.ts']],
  ['test/maps/far.test.ts', ['test/support/world.ts']],
  ['test/support/hosted-server.ts', []],
  ['test/maps/hosted.test.ts', ['test/support/hosted-server.ts']],
  ['test/deploy/compose.test.ts', []],
  ['test/tiles/served.test.ts', []],
  ['test/tiles/slow.test.ts', []],
  ['test/engine/served.test.ts', []],
  ['test/docs/words.test.ts', []],
  ['test/docs/long.test.ts', []],
]);
const UNITS = new Set(['test/geometry/unit/box.test.ts']);
const touched = (...changed: string[]) =>
  touchedTests({
    changed,
    imports: IMPORTS,
    units: UNITS,
    durations: { 'test/tiles/slow.test.ts': 900, 'test/docs/long.test.ts': 60 },
    reads: (test, path) => test === 'test/maps/far.test.ts' && path === 'test/fixtures/a.tif',
  });

it('units are touched by whatever they import, however far, and others by what is near', () => {
  expect(touched('src/gateway/tiles.ts').chosen).toContain('test/maps/far.test.ts');
  const { chosen } = touched('src/services/tiles/make.ts');
  expect(chosen).toContain('test/geometry/unit/box.test.ts');
  expect(chosen).toContain('test/maps/near.test.ts');
  expect(chosen).not.toContain('test/maps/far.test.ts');
});

it('a room touches the tests of its name, shortest first, until they take too long', () => {
  const { chosen, left } = touched('src/services/tiles/make.ts');
  expect(chosen).toContain('test/tiles/served.test.ts');
  expect(left).toEqual(['test/tiles/slow.test.ts']);
  expect(touched('src/supervisor/supervise.ts').chosen).toEqual([
    'test/docs/words.test.ts',
    'test/engine/served.test.ts',
  ]);
});

it('a changed test touches itself, and a text the quick tests of the whole tree', () => {
  expect(touched('test/engine/served.test.ts').chosen).toContain('test/engine/served.test.ts');
  expect(touched('README.md')).toEqual({ chosen: ['test/docs/words.test.ts'], left: [], unknown: [] });
});

it('a file that is not imported touches the tests of its folder, those that name it, or perhaps all', () => {
  expect(touched('deploy/compose.yaml').chosen).toContain('test/deploy/compose.test.ts');
  expect(touched('test/fixtures/a.tif').chosen).toContain('test/maps/far.test.ts');
  expect(touched('test/support/host.ts').chosen).toContain('test/maps/hosted.test.ts');
  expect(touched('package.json', 'README.md').unknown).toEqual(['package.json']);
});
