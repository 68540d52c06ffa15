import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const printed = (...args: string[]) =>
  execFileSync(process.execPath, ['dist/cli/configuration.js', ...args], { encoding: 'utf8' });

test('docs/reference/server/settings.md lists the settings that there are', () => {
  expect(readFileSync('docs/reference/server/settings.md', 'utf8')).toBe(printed());
});

test('schemas/graticule.schema.json is the schema that is enforced', () => {
  expect(readFileSync('schemas/graticule.schema.json', 'utf8')).toBe(printed('--schema'));
});
