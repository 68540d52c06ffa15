import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, type Editor, postgisStore, startEditor } from '../edits/support.js';
import { until } from '../webhooks/receiver.js';

const TABLES = `
  CREATE TABLE par (id int PRIMARY KEY, total int DEFAULT 0, geom geometry(Point, 4326));
  CREATE TABLE chi (id serial PRIMARY KEY, par int REFERENCES par ON DELETE CASCADE, geom geometry(Point, 4326));
  CREATE TABLE own (id int PRIMARY KEY, above int REFERENCES own ON DELETE CASCADE, geom geometry(Point, 4326));
  CREATE TABLE tra (id int PRIMARY KEY, cur boolean, geom geometry(Point, 4326));
  INSERT INTO par VALUES (1, 0, 'SRID=4326;POINT(1 1)'), (2, 0, 'SRID=4326;POINT(2 2)');
  INSERT INTO chi (par, geom) SELECT p, 'SRID=4326;POINT(1 1)' FROM unnest('{1,1,2,2}'::int[]) AS p;
  INSERT INTO own VALUES (1, NULL, 'SRID=4326;POINT(1 1)'), (2, 1, 'SRID=4326;POINT(2 2)'), (3, NULL, NULL);
  INSERT INTO tra VALUES (1, true, 'SRID=4326;POINT(1 1)'), (2, false, 'SRID=4326;POINT(2 2)');
  CREATE FUNCTION add_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE par SET total = total + 1 WHERE id = NEW.par; RETURN NULL; END $$;
  CREATE TRIGGER add_up AFTER INSERT ON chi FOR EACH ROW EXECUTE FUNCTION add_up();
  CREATE FUNCTION one_cur() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE tra SET cur = false WHERE cur AND id <> NEW.id; RETURN NULL; END $$;
  CREATE TRIGGER one_cur AFTER UPDATE ON tra FOR EACH ROW WHEN (NEW.cur) EXECUTE FUNCTION one_cur();`;

describe('changes that an edit of the server causes in the database', () => {
  let store: EditableStore;
  let editor: Editor;

  beforeAll(async () => {
    store = await postgisStore();
    await store.query(TABLES);
    store.env = { SVC_POSTGIS__CAPTURE_EDITS: 'true' };
    editor = await startEditor(store);
    await until(
      async () =>
        (await store.query(`SELECT FROM pg_trigger WHERE tgname LIKE 'graticule_capture_%'`)).length === 28,
    );
  }, 120_000);
  afterAll(async () => {
    await editor?.server.stop();
    await store?.release();
  });

  /** The events of the outbox that follow from a request, as far as they are told apart here. */
  async function eventsOf(method: string, path: string, body?: unknown): Promise<string[]> {
    const [{ last }] = (await store.query(
      `SELECT coalesce(max(cursor), 0) AS last FROM ${store.outbox}`,
    )) as [{ last: string }];
    const type = { 'content-type': 'application/merge-patch+json' };
    const { status } = await editor.send(method, path, body, method === 'PATCH' ? type : {});
    expect(status).toBeLessThan(300);
    const rows = await store.query(
      `SELECT operation, table_name, feature_id, protocol = 'Database' AS captured FROM ${store.outbox}
       WHERE cursor > ${last} ORDER BY cursor`,
    );
    return rows.map(
      ({ operation, table_name, feature_id, captured }) =>
        `${operation} ${table_name} ${feature_id}${captured ? ' captured' : ''}`,
    );
  }
  const matched = async (id: string) => (await editor.send('GET', `${id}/items`)).body.numberMatched;

  it('are reported of other tables, by foreign keys and by triggers', async () => {
    expect(await eventsOf('DELETE', 'par/items/1')).toEqual([
      'delete public.par 1',
      'delete public.chi 1 captured',
      'delete public.chi 2 captured',
    ]);
    await until(async () => (await matched('chi')) === 2);
    const child = {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [1, 1] },
      properties: { par: 2 },
    };
    expect(await eventsOf('POST', 'chi/items', child)).toEqual([
      'insert public.chi 5',
      'update public.par 2 captured',
    ]);
  });

  it('are reported of other rows of the same table, and the edited row once', async () => {
    expect(await eventsOf('PATCH', 'tra/items/2', { type: 'Feature', properties: { cur: true } })).toEqual([
      'update public.tra 2',
      'update public.tra 1 captured',
    ]);
    expect(await eventsOf('DELETE', 'own/items/1')).toEqual([
      'delete public.own 1',
      'delete public.own 2 captured',
    ]);
    await until(async () => (await matched('own')) === 1);
  });
});
