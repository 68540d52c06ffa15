import { describe, expect, it } from 'vitest';
import { faults, type Rooms, sources } from './imports.mjs';

const told = (files: Record<string, string>, rooms: Rooms = {}) =>
  faults(new Map(Object.entries(files)), rooms);

describe('imports', () => {
  it('go one way', () => {
    const files = {
      'src/core/geometry/box.ts': 'export const BOX = 1;',
      'src/services/tiles.ts': "import { BOX } from '../core/geometry/box.js';",
      'src/gateway/http.ts': "import { tiles } from '../services/tiles.js';",
    };
    expect(told(files)).toEqual([]);
    expect(told({ ...files, 'src/core/geometry/box.ts': "import '../../services/tiles.js';" })).toEqual([
      'src/core/geometry/box.ts imports src/services/tiles.ts: core may not import services',
      'these import each other: src/core/geometry/box.ts, src/services/tiles.ts',
    ]);
    expect(
      told({ ...files, 'src/cli/main.ts': "const { serve } = await import('../gateway/http.js');" }),
    ).toEqual(['src/cli/main.ts imports src/gateway/http.ts: cli may not import gateway']);
    expect(
      told({ ...files, 'src/services/a.ts': "import type { B } from '../gateway/http.js';" }),
    ).toHaveLength(1);
  });

  it('reach workers through their doors alone', () => {
    const files = { 'src/workers/pools/pools.ts': '', 'src/workers/raster/open.ts': '' };
    expect(
      told({ ...files, 'src/services/a.ts': "import { pools } from '../workers/pools/pools.js';" }),
    ).toEqual([]);
    expect(
      told({ ...files, 'src/services/a.ts': "import { open } from '../workers/raster/open.js';" }),
    ).toEqual([expect.stringMatching('runs in workers alone')]);
  });

  it('make no circle of values, and of types none of more than two files', () => {
    const pair = {
      'src/core/a.ts': "import type {\n  B,\n} from './b.js';",
      'src/core/b.ts': "import { a } from './a.js';",
    };
    expect(told(pair)).toEqual([]);
    expect(told({ ...pair, 'src/core/a.ts': "export { b } from './b.js';" })).toEqual([
      'these import each other: src/core/a.ts, src/core/b.ts',
    ]);
    expect(
      told({
        'src/core/a.ts': "import type { B } from './b.js';",
        'src/core/b.ts': "import { type C } from './c.js';",
        'src/core/c.ts': "export type A = import('./a.js').A;",
      }),
    ).toEqual([
      'the types of more than two files need each other: src/core/a.ts, src/core/b.ts, src/core/c.ts',
    ]);
  });

  it('go from room to room as the table says', () => {
    const files = {
      'src/services/tiles/make.ts': "import { draw } from '../maps/draw.js';",
      'src/services/maps/draw.ts': '',
    };
    const maps = { holds: 'maps', uses: [] };
    const tiles = { holds: 'tiles', uses: ['maps'] };
    expect(told(files, { services: { maps, tiles } })).toEqual([]);
    expect(told(files, { services: { maps, tiles: { ...tiles, uses: [] } } })).toEqual([
      'src/services/tiles/make.ts imports src/services/maps/draw.ts: test/layers/rooms.mjs does not let services/tiles use services/maps',
    ]);
    expect(told(files, { services: { tiles } })).toContain(
      'src/services/maps/draw.ts is in no room of test/layers/rooms.mjs',
    );
    expect(told(files, { services: { maps: { ...maps, uses: ['tiles'] }, tiles } })).toEqual([
      'test/layers/rooms.mjs lets services/maps use services/tiles, and no file does',
      'these rooms of services use each other: maps, tiles',
    ]);
    expect(told(files, { services: { maps, tiles, styles: maps } })).toEqual([
      'test/layers/rooms.mjs names services/styles, which has no files',
    ]);
  });

  it('find no more than 25 files in a folder', () => {
    const many = Object.fromEntries(Array.from({ length: 26 }, (_, n) => [`src/client/f${n}.ts`, '']));
    expect(told(many)).toEqual(['src/client has 26 files: at most 25']);
  });
});

it('services use neither requests nor replies of HTTP', () => {
  const NAMES = /import (?:type )?\{[^}]*\b(?:Reply|Exchange|Operation|defineOperation)\b[^}]*\} from/;
  const services = [...sources()].filter(([path]) => path.startsWith('src/services/'));
  expect(services.length).toBeGreaterThan(200);
  expect(services.filter(([, text]) => NAMES.test(text)).map(([path]) => path)).toEqual([]);
});
