import { describe, expect, it } from 'vitest';
import { faults } from './imports.mjs';

const told = (files: Record<string, string>) => faults(new Map(Object.entries(files)));

describe('imports', () => {
  it('go one way', () => {
    const files = {
      'src/core/box.ts': 'export const BOX = 1;',
      'src/services/tiles.ts': "import { BOX } from '../core/box.js';",
      'src/gateway/http.ts': "import { tiles } from '../services/tiles.js';",
    };
    expect(told(files)).toEqual([]);
    expect(told({ ...files, 'src/core/box.ts': "import '../services/tiles.js';" })).toEqual([
      'src/core/box.ts imports src/services/tiles.ts: core may not import services',
      'these import each other: src/core/box.ts, src/services/tiles.ts',
    ]);
    expect(
      told({ ...files, 'src/cli/main.ts': "const { serve } = await import('../gateway/http.js');" }),
    ).toEqual(['src/cli/main.ts imports src/gateway/http.ts: cli may not import gateway']);
    expect(
      told({ ...files, 'src/services/a.ts': "import type { B } from '../gateway/http.js';" }),
    ).toHaveLength(1);
  });

  it('reach workers through their doors alone', () => {
    const files = { 'src/workers/pools.ts': '', 'src/workers/raster/open.ts': '' };
    expect(told({ ...files, 'src/services/a.ts': "import { pools } from '../workers/pools.js';" })).toEqual(
      [],
    );
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
});
