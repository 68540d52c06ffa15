import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EditTask } from '../../../src/core/edits/edits.js';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import Database from '../../../src/native/sqlite.js';
import { edit } from '../../../src/workers/providers/geopackage/edits/edit.js';
import { closeWriters } from '../../../src/workers/providers/geopackage/edits/writer.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { PROVIDER_LIMITS } from '../../../src/workers/providers/limits.js';
import { geoPackageStore } from '../support.js';

/** Triggers of foreign GeoPackages that never end. */

const store = geoPackageStore();
const limits = PROVIDER_LIMITS as { editStatementMs: number };
const former = limits.editStatementMs;
const ENDLESS =
  'SELECT count(*) FROM (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r)';

beforeAll(() => {
  limits.editStatementMs = 300;
  const db = new Database(store.file);
  db.exec(`CREATE TRIGGER endless BEFORE INSERT ON spots WHEN new.name = 'endless' BEGIN ${ENDLESS}; END;
    CREATE TRIGGER late AFTER UPDATE ON gpkg_contents WHEN old.table_name = 'untended' BEGIN ${ENDLESS}; END;`);
  db.close();
});
afterAll(async () => {
  limits.editStatementMs = former;
  closeWriters();
  await store.release();
});

async function insert(table: string, names: readonly string[], mode: EditTask['mode'] = 'atomic') {
  const { source } = inspectGeoPackage(store.file).find((layer) => layer.source.table === table)!;
  const create = (name: string): EditTask['operations'][number] => {
    const values = table === 'spots' ? { values: { name: JSON.stringify(name) } } : {};
    return { type: 'create', feature: { geometry: '{"type":"Point","coordinates":[1,2]}', ...values } };
  };
  const task: EditTask = {
    ...{ source, operations: names.map(create), mode, crs: 'OGC:CRS84', swapAxes: false, filter: undefined },
    origin: { collection: table, layerId: 1, protocol: 'Test', requestId: '1', actor: 'me' },
  };
  return edit(task).catch((error: unknown) => error as TaskFailure);
}
const count = async (table: string) => (await store.query(`SELECT count(*) AS n FROM ${table}`))[0]!['n'];

describe('an edit whose trigger never ends', () => {
  it.each(['atomic', 'each'] as const)('fails in time and changes nothing: %s', async (mode) => {
    const before = await count('spots');
    const failure = await insert('spots', ['a', 'endless', 'b'], mode);
    expect(failure).toBeInstanceOf(TaskFailure);
    expect(failure).toMatchObject({ code: 'deadline-exceeded', message: expect.stringContaining('trigger') });
    expect(await count('spots')).toBe(before);
  });

  it('may be started by what the server itself writes', async () => {
    const before = await count('untended');
    expect(await insert('untended', ['a'])).toMatchObject({ code: 'deadline-exceeded' });
    expect(await count('untended')).toBe(before);
  });

  it('leaves the file to later edits, which may take as long together', async () => {
    const outcomes = (n: number) => Array.from({ length: n }, () => expect.objectContaining({ ok: true }));
    expect(await insert('spots', ['a'])).toMatchObject({ outcomes: outcomes(1) });
    await new Promise((next) => setTimeout(next, 400));
    expect(await insert('spots', ['b', 'c'])).toMatchObject({ outcomes: outcomes(2) });
  });
});
