import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const TEXT = readFileSync('docs/contributing/recipes.md', 'utf8');
const paths = [...new Set([...TEXT.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, path]) => path!))];

describe('the recipes', () => {
  it('name many files', () => {
    expect(paths.length).toBeGreaterThan(40);
  });

  it.each(paths)('name what there is: %s', (path) => {
    const [folder] = path.split('/NAME');
    expect(existsSync(path.includes('NAME') ? folder! : path)).toBe(true);
  });

  it('show changes of what there is', () => {
    const diffs = [...TEXT.matchAll(/^```diff\n([\s\S]*?)^```$/gm)].flatMap(([, diff]) =>
      diff!.split(/^(?=--- )/m).map((part) => part.split('\n')),
    );
    expect(diffs.length).toBeGreaterThan(6);
    for (const [from, to, ...lines] of diffs) {
      const path = to!.slice('+++ b/'.length);
      if (from === '--- /dev/null') {
        expect(existsSync(path), path).toBe(false);
        continue;
      }
      expect(from).toBe(`--- a/${path}`);
      const text = readFileSync(path, 'utf8').split('\n');
      for (const line of lines) {
        if (/^[ -]/.test(line)) expect(text, `${path}: ${line}`).toContain(line.slice(1));
        if (line.startsWith('@@ ')) expect(text.join('\n'), path).toContain(line.slice(3));
      }
    }
  });

  it('name symbols that stand in the files named beside them', () => {
    for (const [symbol, path] of [
      ['READERS', 'src/core/styles/sld/symbolizers.ts'],
      ['DRIVERS', 'src/workers/gdal/vector-drivers.ts'],
      ['TABLES', 'src/services/catalog/publish/formats.ts'],
      ['FeatureStore', 'src/workers/providers/feature-store.ts'],
      ['byData', 'src/core/catalog/abilities.ts'],
      ['LayerEncoder', 'src/native/index.ts'],
      ['defineOperation', 'src/core/http/operation.ts'],
    ] as const) {
      expect(TEXT).toContain(symbol);
      expect(readFileSync(path, 'utf8')).toMatch(new RegExp(`\\b${symbol}\\b`));
    }
  });
});
