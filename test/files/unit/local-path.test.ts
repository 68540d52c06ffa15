import { expect, it } from 'vitest';
import { localPath } from '../../../src/core/files/local-path.js';

it.each(['/', '/docs', '/a/b?c=d&e=%2F#f', '/%0d%0a'])('%s is a path of this site', (path) => {
  expect(localPath(path)).toBe(path);
});

it.each([
  ...['', 'docs', '//evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example', '/\n/x'],
  ...[
    'https://evil.example',
    'javascript:alert(1)',
    '/a\\b',
    '/ä',
    '/.//evil.example',
    '/..//evil.example',
    undefined,
  ],
])('%j is none', (path) => {
  expect(localPath(path)).toBeUndefined();
});
