import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { sources } from './imports.mjs';

/** Exported names that several files declare, and why. */
const SAME: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...[
        'Order',
        'count',
        'edit',
        'encodeScene',
        'events',
        'groupCount',
        'groupValue',
        'groups',
        'guarded',
        'item',
        'items',
      ],
      ...[
        'losses',
        'merge',
        'newestCursor',
        'occupied',
        'quote',
        'recordEvents',
        'recordGap',
        'rowName',
        'rows',
      ],
      ...['tileLayer', 'top'],
    ].map((name) => [name, 'the stores of GeoPackages and of PostGIS have the same functions']),
  ),
  StreamMode: 'the client of streams imports nothing',
};
/** Functions with `Of` in their names are verbs all the same. */
const VERBS: ReadonlySet<string> = new Set(['computeZoneOffset']);

/** Nouns that end as participles do. */
const NOUNS: ReadonlySet<string> = new Set([
  ...['coding', 'crossing', 'drawing', 'encoding', 'feed', 'finding', 'framing', 'geocoding'],
  ...['geoprocessing', 'grouping', 'hardening', 'licensing', 'listing', 'mapping', 'processing', 'ranking'],
  ...['recording', 'rendering', 'resampling', 'ring', 'scaling', 'seed', 'setting', 'staging', 'streaming'],
  ...['thing', 'tiling', 'viewshed'],
]);
const PARTICIPLE = /(?:ed|ing)$/;

const EXPORT =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

/** Files by the names that they export. A name that a file declares several times (a type and a value) counts once. */
function readExports(): Map<string, string[]> {
  const files = new Map<string, string[]>();
  for (const [path, text] of sources())
    for (const name of new Set([...text.matchAll(EXPORT)].map(([, found]) => found!)))
      files.set(name, [...(files.get(name) ?? []), path]);
  return files;
}

it('an exported name has one meaning', () => {
  const several = [...readExports()].filter(([, paths]) => paths.length > 1);
  const wrong = several.filter(([name]) => !(name in SAME));
  expect(wrong.map(([name, paths]) => `${name}: ${paths.join(', ')}`)).toEqual([]);
  const names = new Set(several.map(([name]) => name));
  expect(Object.keys(SAME).filter((name) => !names.has(name))).toEqual([]);
});

it('exported functions are verbs, not the Of of something', () => {
  const functions = /^export (?:async )?(?:function\*? |const )([a-z]\w*Of(?:[A-Z]\w*)?)\b/gm;
  const wrong = [...sources()].flatMap(([path, text]) =>
    [...text.matchAll(functions)]
      .map(([, name]) => name!)
      .filter((name) => !VERBS.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect(wrong).toEqual([]);
});

it('types and files have nouns for names, not participles', () => {
  const types = /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|enum) (\w+(?:ed|ing))\b/gm;
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).map((path) => `test/${path}`);
  const tests = files.filter((path) => path.endsWith('.ts'));
  const texts = new Map([...sources(), ...tests.map((path) => [path, readFileSync(path, 'utf8')] as const)]);
  const found = [...texts].flatMap(([path, text]) => [
    ...[...text.matchAll(types)].map(([, name]) => ({ path, name: name! })),
    ...(PARTICIPLE.test(basename(path, '.ts').replace(/\.test$/, ''))
      ? [{ path, name: basename(path, '.ts').replace(/\.test$/, '') }]
      : []),
  ]);
  const used = new Set<string>();
  const wrong = found.filter(({ name }) => {
    const word = /[A-Z]?[a-z]+$/.exec(name)![0].toLowerCase();
    used.add(word);
    return !NOUNS.has(word);
  });
  expect(wrong.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
  expect([...NOUNS].filter((noun) => !used.has(noun))).toEqual([]);
});
