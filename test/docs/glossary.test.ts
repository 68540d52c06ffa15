import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const text = readFileSync('docs/contributing/glossary.md', 'utf8');

it('the glossary explains each word once, in order', () => {
  for (const part of text.split(/^## /m).slice(1)) {
    const words = [...part.matchAll(/^\| ([a-zA-Z][^|]*?) \| /gm)].map(([, word]) => word!).slice(1);
    expect(words).toEqual(words.toSorted((a, b) => a.localeCompare(b, 'en', { sensitivity: 'base' })));
    expect(new Set(words).size).toBe(words.length);
  }
});

it('the functions that the glossary names are there, and so are the folders', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join('src', name), 'utf8'))
    .join('\n');
  const names = [...text.matchAll(/`([a-z]+[A-Z]\w+)`/g)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(sources))).toEqual([]);
  const paths = [...text.matchAll(/`((?:src|workers)\/[\w./-]+)`/g)].map(([, path]) => path!);
  expect(paths.filter((path) => !existsSync(path) && !existsSync(join('src', path)))).toEqual([]);
});
