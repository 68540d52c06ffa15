import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { startServer } from '../../support/server.js';
import { isFullRun } from '../../support/soak.js';

/** A brief run writes one archive, and kills once. */
const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
const folder = mkdtempSync(join(tmpdir(), 'graticule-cli-tiles-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(args: string[]): ChildProcess {
  const child = spawn(process.execPath, ['dist/cli/main.js', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  return child;
}

async function ended(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part) => (text += part));
  const [code] = await once(child, 'close');
  return { code: code as number | null, text };
}

const run = (...args: string[]) => ended(start(args));
const dataDir = join(folder, 'data');
const SOURCE = 'demo/data/world_map.gpkg';
const exporting = (file: string, ...more: string[]) => [
  ...['export', 'countries', '--tiles', join(folder, file), '--source', SOURCE, '--data-dir', dataDir],
  ...more,
];
const left = (name: string) => readdirSync(folder).filter((one) => one.startsWith(name));

/** Resolves once the archive that is being written holds something. */
async function begun(name: string): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if (left(name).some((file) => file.includes('.partial') && statSync(join(folder, file)).size > 200_000))
      return;
    await pause(20);
  }
  throw new Error('nothing was written');
}

describe('graticule export --tiles', () => {
  it('writes an archive of several collections', async () => {
    const file = join(folder, 'two.mbtiles');
    const args = ['export', 'countries,states_provinces', '--tiles', file, '--source', SOURCE];
    const { code, text } = await run(
      ...args,
      '--data-dir',
      dataDir,
      '--zooms',
      '0-2',
      '--bbox',
      '-30,30,40,70',
    );
    expect([code, text]).toEqual([0, expect.stringContaining('wrote 7 tiles')]);
    const db = new Database(file, { readonly: true });
    const json = db.prepare("SELECT value FROM metadata WHERE name = 'json'").pluck().get() as string;
    const layers = (JSON.parse(json) as { vector_layers: { id: string; fields: object }[] }).vector_layers;
    expect(layers.map(({ id }) => id)).toEqual(['countries', 'states_provinces']);
    expect(layers[0]!.fields).toMatchObject({ NAME: 'String' });
    db.close();
    expect(left('two')).toEqual(['two.mbtiles']);
    expect((await run(...args, '--data-dir', dataDir)).code).toBe(64);
  });

  full('draws images into a GeoPackage', async () => {
    const { code, text } = await run(...exporting('images.gpkg', '--zooms', '1'));
    expect([code, text]).toEqual([0, expect.stringContaining('wrote 4 tiles')]);
  });

  it('goes on where it was killed', async () => {
    const args = exporting('killed.pmtiles', '--zooms', '0-5');
    const first = start(args);
    await begun('killed');
    first.kill('SIGKILL');
    await once(first, 'close');
    expect(left('killed').length).toBeGreaterThan(0);
    expect(left('killed')).not.toContain('killed.pmtiles');
    const { code, text } = await run(...args);
    expect(code, text).toBe(0);
    expect(left('killed')).toEqual(['killed.pmtiles']);
    const whole = await run(...exporting('whole.pmtiles', '--zooms', '0-5'));
    expect(whole.code).toBe(0);
    const bytes = (name: string) => readFileSync(join(folder, name));
    expect(bytes('killed.pmtiles').equals(bytes('whole.pmtiles'))).toBe(true);
  });

  full('leaves nothing when it is interrupted', async () => {
    const child = start(exporting('stopped.mbtiles', '--zooms', '0-9'));
    const end = ended(child);
    await begun('stopped');
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: 130, text: expect.stringContaining('interrupted') });
    expect(left('stopped')).toEqual([]);
  });

  describe.each([
    [['--zooms', '5-2'], /--zooms/],
    [['--zooms', 'x'], /--zooms/],
    [['--bbox', '1,2,3'], /--bbox/],
    [['--bbox', '1,20,3,10'], /--bbox/],
    [['--format', 'gif'], /mvt, mlt, png, webp/],
    [['--encoding', 'png'], /mvt or mlt/],
    [['--format', 'mvt', '--encoding', 'mlt'], /--encoding: mlt cannot be combined with --format mvt/],
    [['--set', 'nowhere'], /no tile matrix set/],
    [['--set', 'WorldCRS84Quad'], /WebMercatorQuad/],
  ])('with %j', (more, message) => {
    it.runIf(IS_FULL || more.includes('nowhere'))('is refused', async () => {
      const { code, text } = await run(...exporting('wrong.pmtiles', ...more));
      expect([code, text]).toEqual([64, expect.stringMatching(message)]);
      expect(left('wrong')).toEqual([]);
    });
  });

  full('refuses an ending it does not know, and two files', async () => {
    expect((await run(...exporting('wrong.zip'))).code).toBe(64);
    expect((await run('export', 'countries', 'a.csv', '--tiles', 'b.pmtiles')).code).toBe(64);
    expect((await run('export', 'countries')).code).toBe(64);
  });
});

describe('graticule seed', () => {
  full('fills the cache of the server that runs', async () => {
    const server = await startServer();
    try {
      const { code, text } = await run('seed', 'countries', '--data-dir', server.dataDir, '--zooms', '0-3');
      expect([code, text]).toEqual([0, expect.stringMatching(/^[5-9]\d tiles were added to the cache$/m)]);
      const wrong = await run('seed', 'nothing', '--data-dir', server.dataDir);
      expect([wrong.code, wrong.text]).toEqual([1, expect.stringContaining("collection 'nothing'")]);
    } finally {
      await server.stop();
    }
  });

  it('says so when none does', async () => {
    const { code, text } = await run('seed', 'countries', '--data-dir', dataDir);
    expect([code, text]).toEqual([64, expect.stringContaining('no server runs')]);
  });
});
