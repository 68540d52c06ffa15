import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINE_FLAGS, GATEWAY_FLAGS } from '../../src/supervisor/supervise.js';

const loadBundle = createRequire(import.meta.url)('../../src/bundle-loader.cjs') as (file: string) => unknown;
/** Those that a server loads when it starts. */
const BUNDLES = readdirSync('dist', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.compiled'))
  .map((name) => join('dist', name.replace(/\.compiled$/, '')));

/** Prints for each file given whether V8 accepts its compiled code. */
const CHECK = `
const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');
for (const file of process.argv.slice(1)) {
  const text = readFileSync(file, 'latin1');
  const wrapped = '(function (exports, require, module, __filename, __dirname) {' + text + '\\n})';
  const script = new Script(wrapped, { filename: file, cachedData: readFileSync(file + '.compiled') });
  console.log(file, script.cachedDataRejected ? 'refused' : 'accepted');
}`;

/** The bundles that processes with these flags load, as V8 takes their compiled code. */
function checkCompiled(flags: string[], entries: string[]): string[] {
  const bundles = entries.map((entry) => BUNDLES.find((name) => name.startsWith(`dist/${entry}-`))!);
  const printed = execFileSync(process.execPath, [...flags, '-e', CHECK, ...bundles], { encoding: 'utf8' });
  return printed.trim().split('\n');
}

describe('bundles', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-bundles-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    { flags: [], entries: ['cli/main'] },
    {
      flags: GATEWAY_FLAGS,
      entries: ['gateway/start/main', 'workers/entries/state', 'workers/entries/vector'],
    },
    {
      flags: ENGINE_FLAGS,
      entries: ['workers/entries/engine/main', 'workers/entries/raster', 'workers/entries/map'],
    },
  ])('come with compiled code that V8 accepts in processes with flags $flags', ({ flags, entries }) => {
    for (const line of checkCompiled(flags, entries)) expect(line).toMatch(/ accepted$/);
  });

  it('are read as one byte a character', () => {
    for (const bundle of BUNDLES)
      expect(
        readFileSync(bundle).every((byte) => byte < 0x80),
        bundle,
      ).toBe(true);
  });

  it('run without compiled code, and with code that is damaged or of another version', () => {
    const bundle = join(folder, 'entry.cjs');
    writeFileSync(bundle, 'exports.value = [__filename, require("node:path").basename(__dirname)].length;');
    expect(loadBundle(bundle)).toEqual({ value: 2 });
    writeFileSync(`${bundle}.compiled`, 'damaged');
    expect(loadBundle(bundle)).toEqual({ value: 2 });
  });
});
