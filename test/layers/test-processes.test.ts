import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';

/** Changes that another test file in the same process would meet. */
const CHANGES_OF_PROCESS = [
  /\bvi\.(?!waitFor\b)/,
  /\bprocess\.env(\.\w+|\[[^\]]+\]) *\??\??=[^=]|delete process\.env/,
  /[^.]process\.(chdir|umask|on\(|once\(|title)/,
];

/** Units put back what they replace; `--sequence.shuffle.files` finds those that do not. */
const FREE = /^(cql2|layers|native)\/|\/(unit|alone)\//;

/** Folders of tests of everything together, and of what tests need. */
const BESIDE = 'client contract deploy docs e2e faults fixtures layers native support words'.split(' ');
const MAX_FILES = 25;

const listFolders = (path: string) =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

it('tests lie in folders of the capabilities of src, in each not too many', () => {
  const floors = ['core', 'gateway', 'services', 'stores', 'workers'];
  const rooms = new Set([...floors.flatMap((floor) => listFolders(`src/${floor}`)), ...BESIDE]);
  expect(listFolders('test').filter((folder) => folder !== 'artefacts' && !rooms.has(folder))).toEqual([]);
  const counts = new Map<string, number>();
  for (const name of readdirSync('test', { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.test.ts')) counts.set(dirname(name), (counts.get(dirname(name)) ?? 0) + 1);
  expect([...counts].filter(([, files]) => files > MAX_FILES)).toEqual([]);
  expect(counts.size).toBeGreaterThan(50);
});

it('only units and files in folders called alone in folders called alone change the process that they run in', () => {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  );
  expect(files.length).toBeGreaterThan(400);
  const changing = files.filter((name) =>
    CHANGES_OF_PROCESS.some((change) => change.test(readFileSync(`test/${name}`, 'utf8'))),
  );
  expect(changing.filter((name) => !FREE.test(name))).toEqual([]);
  expect(changing.filter((name) => name.includes('/alone/')).length).toBeGreaterThan(5);
});
