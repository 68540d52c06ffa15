import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};
const text = readFileSync('docs/contributing/dependencies.md', 'utf8');
const rows = [...text.matchAll(/^\| (\S+) \| (\S+) \| (.+?) \| (.+?) \| (.+?) \|$/gm)].slice(1);

it('every package that the server needs has its line, with the licence that the package states', () => {
  expect(rows.map(([, name]) => name)).toEqual(Object.keys(manifest.dependencies));
  for (const [, name, licence] of rows) {
    const { license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as {
      license?: string;
    };
    // One package has its licence as a file only.
    if (license) expect(`${name} ${licence}`).toBe(`${name} ${license}`);
    else expect(readFileSync(`node_modules/${name}/LICENSE`, 'utf8')).toContain('Apache License');
  }
});

it('what is said to be part of dist is, and nothing else', () => {
  const licences = readFileSync('dist/licences/server.txt', 'utf8');
  const bundled = rows.filter(([, name]) => licences.includes(`\n${name} `)).map(([, name]) => name);
  expect(rows.filter(([, , , use]) => use!.endsWith('(in dist)')).map(([, name]) => name)).toEqual(bundled);
});

it('no source of the server imports what only builds and tests have', () => {
  const licences = readFileSync('dist/licences/server.txt', 'utf8');
  const bundled = Object.keys(manifest.devDependencies).filter((name) => licences.includes(`\n${name} `));
  expect(bundled).toEqual([]);
});

it('every Debian package that the build installs is named', () => {
  const names = /^DEBIAN_PACKAGES=\((.+)\)$/m.exec(readFileSync('run', 'utf8'))![1]!.split(' ');
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
