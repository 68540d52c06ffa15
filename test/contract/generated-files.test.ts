import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const printed = (...command: string[]) => execFileSync(process.execPath, command, { encoding: 'utf8' });

/** Pages of docs/reference by the commands that print them. Log events, metrics and limits have tests beside their own. */
const PAGES = {
  'server/settings.md': ['dist/cli/configuration.js'],
  'server/errors.md': ['dist/gateway/telemetry/documents.js', 'errors'],
  'server/command-line.md': ['dist/cli/main.js', 'reference'],
  'apis/process-catalogue.md': ['dist/gateway/processes/print-catalogue.js'],
};

test.each(Object.entries(PAGES))('docs/reference/%s is up to date', (page, command) => {
  expect(readFileSync(`docs/reference/${page}`, 'utf8')).toBe(printed(...command));
});

test('docs/reference/apis/conformance.md lists the conformance classes', () => {
  const page = execFileSync(process.execPath, ['dist/gateway/start/conformance.js'], { encoding: 'utf8' });
  expect(readFileSync('docs/reference/apis/conformance.md', 'utf8')).toBe(page);
});

test('schemas/graticule.schema.json is the schema that is enforced', () => {
  expect(readFileSync('schemas/graticule.schema.json', 'utf8')).toBe(
    printed('dist/cli/configuration.js', '--schema'),
  );
});
