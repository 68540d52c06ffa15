import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex } from '../../src/workers/providers/geopackage/schema/create.js';
import { type EditableStore, type Editor, geoPackageStore, postgisStore, startEditor } from './support.js';

/** Triggers, rules and policies of a store that keep rows as they are: nothing is answered or told as done. */

const TABLES = ['soft', 'still', 'ignored', 'hidden'];

/** `soft` marks rows instead of deleting them, `still` and `ignored` change nothing, `hidden` shows no marked rows. */
function geoPackage(): EditableStore {
  const store = geoPackageStore();
  const db = connect(store.file, false);
  for (const table of TABLES) {
    db.exec(`CREATE TABLE ${table} (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, name TEXT, gone BOOLEAN);
      INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${table}', 'features', '${table}', 4326);
      INSERT INTO gpkg_geometry_columns VALUES ('${table}', 'geom', 'POINT', 4326, 0, 0);
      INSERT INTO ${table} (name, gone) VALUES ('one', 0), ('two', 0)`);
    createSpatialIndex(db, table, 'geom', 'fid');
  }
  const ignore = 'SELECT raise(ignore)';
  for (const table of ['soft', 'hidden'])
    db.exec(`CREATE TRIGGER ${table}_delete BEFORE DELETE ON ${table} BEGIN
      UPDATE ${table} SET gone = 1 WHERE fid = OLD.fid; ${ignore}; END`);
  db.exec(`CREATE TRIGGER still_delete BEFORE DELETE ON still BEGIN ${ignore}; END;
    CREATE TRIGGER still_update BEFORE UPDATE ON still BEGIN ${ignore}; END;
    CREATE TRIGGER ignored_insert BEFORE INSERT ON ignored BEGIN ${ignore}; END`);
  db.close();
  return store;
}

async function postgis(): Promise<EditableStore> {
  const store = await postgisStore();
  for (const table of TABLES)
    await store.query(`
      CREATE TABLE ${table} (fid serial PRIMARY KEY, geom geometry(Point, 4326), name text, gone boolean);
      INSERT INTO ${table} (name, gone) VALUES ('one', false), ('two', false)`);
  await store.query(`
    CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      EXECUTE format('UPDATE %I SET gone = true WHERE fid = $1', TG_TABLE_NAME) USING OLD.fid; RETURN NULL; END $$;
    CREATE FUNCTION ignore() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE TRIGGER mark BEFORE DELETE ON soft FOR EACH ROW EXECUTE FUNCTION mark();
    CREATE TRIGGER mark BEFORE DELETE ON hidden FOR EACH ROW EXECUTE FUNCTION mark();
    CREATE TRIGGER ignore BEFORE UPDATE OR DELETE ON still FOR EACH ROW EXECUTE FUNCTION ignore();
    CREATE TRIGGER ignore BEFORE INSERT ON ignored FOR EACH ROW EXECUTE FUNCTION ignore();
    CREATE TABLE ruled (fid serial PRIMARY KEY, geom geometry(Point, 4326), name text);
    INSERT INTO ruled (name) VALUES ('one');
    CREATE RULE stays AS ON DELETE TO ruled DO INSTEAD NOTHING;
    CREATE RULE same AS ON UPDATE TO ruled DO INSTEAD NOTHING;
    CREATE VIEW shown AS SELECT fid, geom, name FROM soft;
    CREATE FUNCTION pretend() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
    CREATE VIEW pretence AS SELECT DISTINCT fid, geom, name FROM soft;
    CREATE TRIGGER pretend INSTEAD OF INSERT OR UPDATE OR DELETE ON pretence
      FOR EACH ROW EXECUTE FUNCTION pretend();
    CREATE TABLE routed (code text PRIMARY KEY, geom geometry(Point, 4326), name text);
    CREATE TABLE routed_1 () INHERITS (routed);
    CREATE FUNCTION route() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO routed_1 SELECT NEW.*; RETURN NULL; END $$;
    CREATE TRIGGER route BEFORE INSERT ON routed FOR EACH ROW EXECUTE FUNCTION route();
    CREATE TABLE quiet (fid serial PRIMARY KEY, geom geometry(Point, 4326), name text, d numeric(4,1), j jsonb);
    INSERT INTO quiet (name, d, j) VALUES ('one', 1.50, '{"a": 1}');
    CREATE TRIGGER quiet BEFORE UPDATE ON quiet FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`);
  return store;
}

const named = (name: string) => ({ type: 'Feature', geometry: null, properties: { name } });

for (const [kind, open] of [
  ['GeoPackage', geoPackage],
  ['PostGIS', postgis],
] as const) {
  describe(kind, () => {
    let store: EditableStore;
    let editor: Editor;

    beforeAll(async () => {
      store = await open();
      editor = await startEditor(store);
    });
    afterAll(async () => {
      await editor?.server.stop();
      await store?.release();
    });

    const told = async (table: string) => {
      const events = await store.query(`SELECT * FROM ${store.outbox}`).catch(() => []);
      return events.filter((event) => JSON.stringify(event).includes(table)).length;
    };

    it('answers 409 for a DELETE that the store did not carry out', async () => {
      for (const table of ['soft', 'still']) {
        const { status, body } = await editor.send('DELETE', `${table}/items/1`);
        expect({ status, detail: body.detail }).toEqual({
          status: 409,
          detail:
            "The database did not delete feature '1'. A trigger, a rule or a policy of the database prevents it.",
        });
        expect(await told(table)).toBe(0);
        const { body: list } = await editor.send('GET', `${table}/items`);
        expect(list).toMatchObject({ numberMatched: 2, numberReturned: 2 });
      }
      expect(await store.query('SELECT count(*) AS n FROM soft WHERE gone')).toEqual([
        { n: kind === 'PostGIS' ? '0' : 0 },
      ]);
    });

    it('answers 409 for a PATCH and a PUT that the store did not carry out', async () => {
      for (const method of ['PATCH', 'PUT']) {
        const { status, body } = await editor.send(method, 'still/items/1', named('new'));
        expect(status).toBe(409);
        expect(body.detail).toMatch(/^The database did not change feature '1'\./);
      }
      expect(
        (
          await editor.send('PUT', 'still/items/1', {
            ...named('one'),
            properties: { name: 'one', gone: false },
          })
        ).status,
      ).toBe(200);
    });

    it('answers 409 for a POST that the store did not carry out', async () => {
      const { status, body } = await editor.send('POST', 'ignored/items', named('new'));
      expect({ status, detail: body.detail }).toEqual({
        status: 409,
        detail:
          'The database did not store the feature. A trigger, a rule or a policy of the database prevents it.',
      });
    });

    it('ends imports that replace or add rows, when the store keeps them out or in', async () => {
      for (const [table, mode] of [
        ['soft', 'replace'],
        ['ignored', 'append'],
      ] as const) {
        const form = new FormData();
        form.set('TableName', table);
        form.set('Mode', mode);
        form.set('file', new Blob([JSON.stringify(named('new'))]), 'new.geojson');
        const response = await fetch(`${editor.server.url}/api/v1/admin/import/upload`, {
          method: 'POST',
          headers: { 'x-api-key': editor.server.adminKey },
          body: form,
        });
        const text = await response.text();
        expect(response.status, text).toBe(422);
        expect(text).toMatch(/The database did not (delete|store)/);
        expect(await store.query(`SELECT name FROM ${table} ORDER BY name`)).toEqual([
          { name: 'one' },
          { name: 'two' },
        ]);
      }
    }, 60_000);
  });
}

describe('PostgreSQL', () => {
  let store: EditableStore;
  let editor: Editor;

  beforeAll(async () => {
    store = await postgis();
    editor = await startEditor(store);
  });
  afterAll(async () => {
    await editor?.server.stop();
    await store?.release();
  });

  it('answers 409 for rules and triggers of views that change nothing', async () => {
    for (const table of ['ruled', 'shown', 'pretence'])
      expect((await editor.send('DELETE', `${table}/items/1`)).status, table).toBe(409);
    expect((await editor.send('PATCH', 'ruled/items/1', named('new'))).status).toBe(409);
  });

  it('takes edits that a trigger leaves out because they change nothing', async () => {
    const same = { ...named('one'), properties: { name: 'one', d: 1.5, j: { a: 1 } } };
    expect((await editor.send('PUT', 'quiet/items/1', same)).status).toBe(200);
    expect((await editor.send('PATCH', 'quiet/items/1', { properties: { d: 1.5 } })).status).toBe(200);
    expect((await editor.send('PATCH', 'quiet/items/1', { properties: { d: 2.5 } })).status).toBe(200);
  });

  it('answers a feature that a trigger wrote to a child table', async () => {
    const { status, headers } = await editor.send('POST', 'routed/items', { ...named('x'), id: 'k' });
    expect(status).toBe(201);
    expect(headers.get('location')).toMatch(/routed\/items\/k$/);
    expect(await store.query('SELECT code FROM routed_1')).toEqual([{ code: 'k' }]);
  });
});
