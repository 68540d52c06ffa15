import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Pools } from '../../src/core/tasks/tasks.js';
import { InspectedStates, isRacy } from '../../src/services/catalog/inspections/inspected-state.js';
import { nameInspectingCode } from '../../src/services/catalog/inspections/inspecting-code.js';
import {
  InspectionFiles,
  type KeptInspection,
} from '../../src/services/catalog/inspections/inspection-files.js';
import { Inspections } from '../../src/services/catalog/inspections/inspections.js';

/** Inspections of unchanged files outlive the process; those of changed, damaged or foreign files do not. */

let root: string;
let folder: string;
let kept: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'graticule-inspections-'));
  [folder, kept] = [join(root, 'files'), join(root, 'kept')];
  mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true }));

const put = (name: string, text = 'abc') => writeFileSync(join(folder, name), text);

describe('the state of a file', () => {
  const stateOf = async (name: string) => (await new InspectedStates().read(join(folder, name)))?.text;
  const at = (name: string) => join(folder, name);

  const CHANGES: Record<string, (file: string) => void> = {
    'another content of the same size and time': (file) => {
      const { atime, mtime } = statSync(file);
      writeFileSync(file, 'xyz');
      utimesSync(file, atime, mtime);
    },
    'more content': (file) => appendFileSync(file, 'd'),
    'a time that is set': (file) => utimesSync(file, 1, 1),
    'a copy in its place': (file) => {
      copyFileSync(file, `${file}.draft`);
      renameSync(`${file}.draft`, file);
    },
    'another mode': (file) => chmodSync(file, 0o600),
  };
  it.each(Object.entries(CHANGES))('changes with %s', async (_, change) => {
    put('a.gpkg');
    const before = await stateOf('a.gpkg');
    // A clock of the file system has steps of some milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 20));
    change(at('a.gpkg'));
    expect(await stateOf('a.gpkg')).not.toBe(before);
  });

  const BESIDE = {
    'a.gpkg': ['a.gpkg-wal', 'a.gpkg-journal', 'a.gpkg.aux.xml'],
    'a.tif': [
      'a.tfw',
      'a.TFW',
      'a.prj',
      'a.tif.prj',
      'a.tif.ovr',
      'a.ovr',
      'a.tif.msk',
      'a.tif.aux.xml',
      'A_RPC.TXT',
    ],
  };
  const pairs = Object.entries(BESIDE).flatMap(([file, names]) => names.map((name) => [file, name] as const));
  it.each(pairs)('of %s changes with %s', async (file, name) => {
    put(file);
    const alone = await stateOf(file);
    put(name);
    const beside = await stateOf(file);
    expect(beside).not.toBe(alone);
    put(name, 'longer');
    expect(await stateOf(file)).not.toBe(beside);
    rmSync(at(name));
    expect(await stateOf(file)).toBe(alone);
  });

  it.each([
    ['a.gpkg', ['a.gpkg-shm', 'a.geojson', 'a.gpkgx', 'b.gpkg', 'aa.gpkg']],
    ['a.tif', ['ab.tif', 'b.tfw', '.tfw']],
  ])('of %s is the same with %j', async (file, names) => {
    put(file);
    const alone = await stateOf(file);
    for (const name of names) put(name);
    // SQLite creates an empty log when it reads.
    put(`${file}-wal`, '');
    expect(await stateOf(file)).toBe(alone);
  });

  it('sees a file that comes while listings are remembered', async () => {
    const states = new InspectedStates();
    put('a.tif');
    const alone = await states.read(at('a.tif'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    put('a.tfw');
    expect((await states.read(at('a.tif')))!.text).not.toBe(alone!.text);
  });

  it('is undefined for a folder and for nothing', async () => {
    mkdirSync(at('x.zarr'));
    expect([await stateOf('x.zarr'), await stateOf('none.tif')]).toEqual([undefined, undefined]);
  });

  it('has the time of the newest file, and is racy for 2 s', async () => {
    put('a.tif');
    utimesSync(at('a.tif'), 1, 1);
    put('a.tfw');
    const state = (await new InspectedStates().read(at('a.tif')))!;
    const { mtimeMs } = statSync(at('a.tfw'));
    expect(Math.abs(state.newestMs - mtimeMs)).toBeLessThan(1);
    expect([1999, 2001].map((ms) => isRacy(state, mtimeMs + ms))).toEqual([true, false]);
  });
});

describe('kept inspections', () => {
  const files = (code = 'code') => new InspectionFiles(kept, code);
  const one: KeptInspection = {
    state: { text: 'state', newestMs: 1.5 },
    at: 5,
    output: { noData: Number.NaN, none: undefined, wide: Number.POSITIVE_INFINITY },
  };
  const inspections = new Map([['raster.inspect {}', one]]);
  const NONE = new Map();
  const onlyName = () => join(kept, readdirSync(kept)[0]!);

  it('are read as they were written, and for their user only', async () => {
    await files().write('/a.tif', inspections);
    expect(await files().read('/a.tif')).toEqual(inspections);
    expect([statSync(kept).mode & 0o777, statSync(onlyName()).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it('are ignored if other code made them', async () => {
    await files().write('/a.tif', inspections);
    expect(await files('other').read('/a.tif')).toEqual(NONE);
  });

  it('are ignored if they are of another source', async () => {
    await files().write('/a.tif', inspections);
    const name = onlyName();
    await files().write('/b.tif', NONE);
    const other = readdirSync(kept)
      .map((each) => join(kept, each))
      .find((each) => each !== name)!;
    copyFileSync(name, other);
    expect(await files().read('/b.tif')).toEqual(NONE);
  });

  it('are ignored if any byte is missing or wrong', async () => {
    await files().write('/a.tif', inspections);
    const whole = readFileSync(onlyName());
    for (let i = 0; i < whole.length; i++) {
      writeFileSync(onlyName(), whole.subarray(0, i));
      expect(await files().read('/a.tif')).toEqual(NONE);
      const wrong = Buffer.from(whole);
      wrong[i]! ^= 1;
      writeFileSync(onlyName(), wrong);
      expect(await files().read('/a.tif')).toEqual(NONE);
    }
    writeFileSync(onlyName(), whole);
    expect(await files().read('/a.tif')).toEqual(inspections);
  });

  it('of other sources and old drafts are removed, and other files are not', async () => {
    await files().write('/a.tif', inspections);
    const own = readdirSync(kept)[0]!;
    await files().write('/b.tif', inspections);
    for (const name of [`${own}.1`, `${own}.2`, 'notes.txt']) writeFileSync(join(kept, name), '');
    utimesSync(join(kept, `${own}.1`), 1, 1);
    await files().keepOnly(['/a.tif']);
    expect(readdirSync(kept).sort()).toEqual([own, `${own}.2`, 'notes.txt'].sort());
  });

  it('are named by the settings of GDAL, and not by others', () => {
    const name = nameInspectingCode({});
    expect(nameInspectingCode({ HOME: '/root' })).toBe(name);
    expect(nameInspectingCode({ GDAL_PAM_ENABLED: 'NO' })).not.toBe(name);
  });
});

describe('a process', () => {
  let asked: string[];
  let found: number;
  let fails: boolean;
  const pools = {
    async run(_: string, { path }: { path: string }) {
      asked.push(path.slice(folder.length + 1));
      if (fails) throw new Error('it fails');
      found += 1;
      return { found };
    },
  } as unknown as Pools;
  /** Files that were just written are not racy for this clock. */
  const later = () => Date.now() + 60_000;
  const start = (now: () => number = later) =>
    new Inspections(pools, new InspectionFiles(kept, 'code'), { now, writeDelayMs: 0 });

  /** Reads files; what their inspections found. */
  async function read(inspections: Inspections, ...names: string[]): Promise<unknown[]> {
    const outputs: unknown[] = [];
    for (const name of names) {
      const path = join(folder, name);
      const inspection = await inspections.start(path);
      outputs.push(await inspection.run('raster.layers', { path }, {}));
      inspection.keep();
    }
    inspections.end(new Set(names.map((name) => join(folder, name))));
    return outputs;
  }
  const written = (count: number) =>
    vi.waitFor(() =>
      expect(readdirSync(kept).filter((name) => name.endsWith('.inspection'))).toHaveLength(count),
    );

  beforeEach(() => {
    [asked, found, fails] = [[], 0, false];
    for (const name of ['a.nc', 'b.nc', 'c.nc']) put(name);
  });

  async function readOnce(): Promise<void> {
    expect(await read(start(), 'a.nc', 'b.nc', 'c.nc')).toEqual([1, 2, 3].map((n) => ({ found: n })));
    await written(3);
    asked = [];
  }

  it('inspects only what changed since the one before', async () => {
    await readOnce();
    put('b.nc', 'longer');
    expect(await read(start(), 'a.nc', 'b.nc', 'c.nc')).toEqual([1, 4, 3].map((n) => ({ found: n })));
    expect(asked).toEqual(['b.nc']);
  });

  it('inspects a file whose inspection is damaged, and keeps it again', async () => {
    await readOnce();
    const [name] = readdirSync(kept);
    writeFileSync(join(kept, name!), 'damaged');
    await read(start(), 'a.nc', 'b.nc', 'c.nc');
    expect(asked).toHaveLength(1);
    await vi.waitFor(() => expect(readFileSync(join(kept, name!)).length).toBeGreaterThan(7));
    asked = [];
    await read(start(), 'a.nc', 'b.nc', 'c.nc');
    expect(asked).toEqual([]);
  });

  it('inspects everything when it reads everything again', async () => {
    await readOnce();
    const inspections = start();
    await read(inspections, 'a.nc', 'b.nc', 'c.nc');
    expect(asked).toEqual([]);
    await read(inspections, 'a.nc', 'b.nc', 'c.nc');
    expect(asked).toEqual(['a.nc', 'b.nc', 'c.nc']);
  });

  it('does not keep an inspection of a file that was just written, or that is written meanwhile', async () => {
    await read(start(Date.now), 'a.nc');
    const inspections = start();
    const path = join(folder, 'b.nc');
    const inspection = await inspections.start(path);
    const output = inspection.run('raster.layers', { path }, {});
    await vi.waitFor(() => expect(asked).toEqual(['a.nc', 'b.nc']));
    put('b.nc', 'longer');
    await output;
    inspection.keep();
    await read(inspections, 'c.nc');
    await written(1);
    asked = [];
    await read(start(), 'a.nc', 'b.nc', 'c.nc');
    expect(asked).toEqual(['a.nc', 'b.nc']);
  });

  it('does not trust a kept inspection that is older than the file can tell', async () => {
    await readOnce();
    const files = new InspectionFiles(kept, 'code');
    const path = join(folder, 'a.nc');
    const racy = [...(await files.read(path))].map(
      ([key, one]) => [key, { ...one, at: Date.now() }] as const,
    );
    await files.write(path, new Map(racy));
    await read(start(), 'a.nc', 'b.nc', 'c.nc');
    expect(asked).toEqual(['a.nc']);
  });

  it('does not keep failures', async () => {
    fails = true;
    await expect(read(start(), 'a.nc')).rejects.toThrow('it fails');
    fails = false;
    expect(await read(start(), 'a.nc')).toEqual([{ found: 1 }]);
  });

  it('removes inspections of files that are gone, at its start and later', async () => {
    await readOnce();
    const inspections = start();
    await read(inspections, 'a.nc', 'b.nc');
    await written(2);
    await read(inspections, 'a.nc');
    await written(1);
    asked = [];
    await read(start(), 'a.nc');
    expect(asked).toEqual([]);
  });

  it('removes inspections that it wrote itself, and all of them where no source is left', async () => {
    const inspections = start();
    await read(inspections, 'a.nc', 'b.nc');
    await written(2);
    await read(inspections, 'a.nc');
    await written(1);
    await read(start());
    await written(0);
  });

  it('keeps an inspection that is made after its source was read', async () => {
    const path = join(folder, 'a.nc');
    const both = async (inspections: Inspections) => {
      const inspection = await inspections.start(path);
      await inspection.run('raster.layers', { path }, {});
      inspection.keep();
      inspections.end(new Set([path]));
      await written(1).catch(() => undefined);
      return inspection.run('vector.otherTables', { kind: 'geopackage', path, inspected: [] }, {});
    };
    await both(start());
    const entries = async () => (await new InspectionFiles(kept, 'code').read(path)).size;
    await vi.waitFor(async () => expect(await entries()).toBe(2));
    asked = [];
    await both(start());
    expect(asked).toEqual([]);
    await vi.waitFor(async () => expect(await entries()).toBe(2));
  });

  it('goes on without a folder that can be written', async () => {
    writeFileSync(kept, '');
    expect(await read(start(), 'a.nc')).toEqual([{ found: 1 }]);
    expect(await read(start(), 'a.nc')).toEqual([{ found: 2 }]);
  });
});
