import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const printed = (...args: string[]) =>
  execFileSync(process.execPath, ['dist/cli/configuration.js', ...args], { encoding: 'utf8' });

test('docs/reference/server/settings.md lists the settings that there are', () => {
  expect(readFileSync('docs/reference/server/settings.md', 'utf8')).toBe(printed());
});

test('docs/reference/apis/process-catalogue.md lists the processes', () => {
  const page = execFileSync(process.execPath, ['dist/gateway/processes/print-catalogue.js'], { encoding: 'utf8' });
  expect(readFileSync('docs/reference/apis/process-catalogue.md', 'utf8')).toBe(page);
});

test('schemas/graticule.schema.json is the schema that is enforced', () => {
  expect(readFileSync('schemas/graticule.schema.json', 'utf8')).toBe(printed('--schema'));
});
