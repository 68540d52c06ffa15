import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { openState } from '../../src/stores/state/state.js';
import { describeStates, stateWorker, type TemporaryState, temporaryState } from '../support/state.js';

const EVENT = {
  at: 1_700_000_000_000,
  event_type: 'AdminAction',
  action: 'admin.apiKeys.create',
  actor: 'key-1',
  actor_type: 'ApiKey',
  outcome: 'Success',
  resource_type: 'api-keys',
  resource_id: null,
  correlation_id: 'c',
  remote_ip: null,
  user_agent: null,
  details: null,
};

describeStates('state database', (temporary, database) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());

  it('gives a slug the same integer in every process and after a restart', async () => {
    const other = await t.again();
    const [roads, lakes] = await Promise.all([
      t.state.collections.idOf('roads'),
      other.collections.idOf('lakes'),
    ]);
    expect(roads).not.toBe(lakes);
    expect(await other.collections.idOf('roads')).toBe(roads);
    await t.state.collections.put({ slug: 'roads', kind: 'vector', definition: { a: 1 } });
    await t.state.collections.remove('roads');
    expect(await t.state.collections.idOf('roads')).toBe(roads);
    expect(await t.state.collections.idOf('rivers')).toBeGreaterThan(Math.max(roads, lakes));
  });

  it('keeps collection definitions and replaces them', async () => {
    await t.state.collections.put({ slug: 'roads', kind: 'vector', definition: { a: 1 }, sourcePath: '/x' });
    await t.state.collections.put({ slug: 'roads', kind: 'vector', definition: { a: 2 } });
    expect(await t.state.collections.list()).toMatchObject([
      { slug: 'roads', definition: { a: 2 }, sourcePath: null },
    ]);
    expect(await t.state.collections.get('lakes')).toBeUndefined();
  });

  it('rolls a transaction back and goes on', async () => {
    await t.state.documents.create('d', 'one', { n: 1 }, 'me');
    const failing = t.state.documents.update('d', 'one', 'me', () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await t.state.documents.get('d', 'one')).toMatchObject({ version: 1, body: { n: 1 } });
  });

  it('versions documents and checks the etag', async () => {
    const made = await t.state.documents.create('d', 'one', { n: 1 }, 'me');
    await expect(t.state.documents.create('d', 'one', {}, 'me')).rejects.toMatchObject({ code: 'conflict' });
    const bump = (body: { n: number }) => ({ n: body.n + 1 });
    const changed = await t.state.documents.update('d', 'one', 'you', bump, [made.etag]);
    expect(changed).toMatchObject({ version: 2, body: { n: 2 }, createdBy: 'me', updatedBy: 'you' });
    const stale = t.state.documents.update('d', 'one', 'you', bump, [made.etag]);
    await expect(stale).rejects.toMatchObject({ code: 'precondition-failed' });
    await expect(t.state.documents.update('d', 'two', 'me', bump)).rejects.toMatchObject({
      code: 'not-found',
    });
    expect(await t.state.documents.remove('d', 'one')).toBe(true);
    expect(await t.state.documents.list('d')).toEqual([]);
  });

  it('counts concurrent changes of one document from two processes without losing one', async () => {
    const other = await t.again();
    await t.state.documents.create('d', 'n', { n: 0 }, 'me');
    const bump = (body: { n: number }) => ({ n: body.n + 1 });
    const all = Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? t.state : other).documents.update('d', 'n', 'me', bump),
    );
    await Promise.all(all);
    expect(await t.state.documents.get('d', 'n')).toMatchObject({ version: 21, body: { n: 20 } });
  });

  it('chains audit rows of two processes and finds a row that was changed or removed', async () => {
    const other = await t.again();
    await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 ? t.state : other).audit.append(EVENT)));
    expect(await t.state.audit.verify()).toEqual({ rowsChecked: 10 });
    expect((await t.state.audit.list({ limit: 3, beforeId: 8 })).map((row) => row.id)).toEqual([7, 6, 5]);
    expect(await t.state.audit.list({ limit: 3, equals: { actor: 'nobody' } })).toEqual([]);

    await expect(t.run(`UPDATE audit SET actor = 'x' WHERE id = 4`)).rejects.toThrow(/append-only/);
    await expect(t.run(`DELETE FROM audit WHERE id = 4`)).rejects.toThrow(/append-only/);
    if (database === 'PostgreSQL') await expect(t.run('TRUNCATE audit')).rejects.toThrow(/append-only/);
    await t.run(
      database === 'PostgreSQL'
        ? 'DROP TRIGGER audit_is_append_only ON audit'
        : 'DROP TRIGGER audit_is_not_updated; DROP TRIGGER audit_is_not_deleted',
    );
    await t.run(`UPDATE audit SET actor = 'x' WHERE id = 4`);
    expect((await t.state.audit.verify()).broken).toEqual({
      id: 4,
      reason: expect.stringContaining('changed'),
    });
    await t.run(`DELETE FROM audit WHERE id = 4`);
    expect((await t.state.audit.verify()).broken).toEqual({
      id: 5,
      reason: expect.stringContaining('missing'),
    });
  });

  it('works beside a newer release that added to it, and is refused once one changed what it needs', async () => {
    const later = `INSERT INTO kysely_migration VALUES ('9999-later', '2030-01-01');
      CREATE TABLE later (a INTEGER); ALTER TABLE documents ADD COLUMN later TEXT`;
    for (const statement of later.split(';')) await t.run(statement);
    const beside = await t.again();
    for (const [i, state] of [t.state, beside].entries()) {
      await state.documents.create('d', `${i}`, { i }, 'me');
      expect(await beside.documents.get('d', `${i}`)).toMatchObject({ body: { i } });
    }
    await t.run(`UPDATE compatibility SET needs = '9999-later'`);
    await expect(t.again()).rejects.toThrow(/newer version.*9999-later/);
  });

  /** Undoes the steps after `0023`. */
  async function undoColumns() {
    await t.run('ALTER TABLE jobs DROP COLUMN caller_json');
    await t.run('ALTER TABLE users DROP COLUMN created_by');
    await t.run('ALTER TABLE attachments DROP COLUMN store');
    await t.run('ALTER TABLE attachments DROP COLUMN aside_at');
    await t.run('DROP TABLE user_keys');
    await t.run('ALTER TABLE sessions DROP COLUMN user_agent');
    await t.run('DROP INDEX deliveries_by_rule');
    for (const column of ['rule_id', 'alert_id', 'attempted_at'])
      await t.run(`ALTER TABLE deliveries DROP COLUMN ${column}`);
    for (const column of ['is_paused', 'failures', 'opens_at', 'sent_since', 'sent'])
      await t.run(`ALTER TABLE sinks DROP COLUMN ${column}`);
    for (const table of ['zones', 'rules', 'revisions', 'states', 'events'])
      await t.run(`DROP TABLE alert_${table}`);
    for (const table of [
      ...['investigations', 'investigation_pins', 'investigation_links'],
      ...['diagnostic_bundles', 'diagnostic_envelopes', 'audit_checkpoints'],
      ...['ops_findings', 'finding_notes', 'autonomy_policies', 'autonomy_settings', 'autonomy_actions'],
      ...['latency_periods', 'vital_periods', 'proposals'],
      ...['licences', 'licence_marks', 'capacity_minutes', 'capacity_surges', 'compliance_evidence'],
      ...['field_submissions', 'field_comments'],
    ])
      await t.run(`DROP TABLE ${table}`);
    for (const column of ['serving_units', 'deployment_role'])
      await t.run(`ALTER TABLE instances DROP COLUMN ${column}`);
  }

  it('takes over the order of rasters that a layer had under its old name', async () => {
    const settings = { title: 'Scenes', mosaicOrder: 'oldest' };
    await t.state.documents.create('layer settings', 'scenes', settings, 'me');
    await t.state.documents.create('d', 'other', settings, 'me');
    // Later steps are undone, so that they can follow again.
    await t.run('ALTER TABLE replicas DROP COLUMN counted_for');
    await t.run('ALTER TABLE collection_ids DROP COLUMN holder');
    await t.run('ALTER TABLE rate_buckets DROP COLUMN spent');
    await t.run('DROP TABLE turns');
    await undoColumns();
    await t.run("DELETE FROM kysely_migration WHERE name >= '0016'");
    const again = await t.again();
    const bodies = await Promise.all([
      again.documents.get('layer settings', 'scenes'),
      again.documents.get('d', 'other'),
    ]);
    expect(bodies.map((one) => one?.body)).toEqual([{ title: 'Scenes', mergeStrategy: 'oldest' }, settings]);
  });

  it('moves rules of collections whose id is a number to the number of their layer', async () => {
    const { collections, documents } = t.state;
    expect(await collections.take(500, '5')).toBe(true);
    expect(await collections.take(600, '6')).toBe(true);
    expect(await collections.take(7, '7')).toBe(true);
    expect(await collections.take(5, 'zones')).toBe(true);
    const [open, closed] = [true, false].map((allowAnonymous) => ({ allowAnonymous }));
    for (const [id, body] of Object.entries({ 5: open, 6: closed, 7: closed, zones: closed }))
      await documents.create('access policy', id, body!, 'me');
    for (const layer of ['6', 'zones']) {
      await documents.create('row-level policy', `rows-${layer}`, { layer, role: 'clerk' }, 'me');
      await documents.create('field mask policy', `mask-${layer}`, { layer, role: 'clerk' }, 'me');
    }
    await undoColumns();
    await t.run("DELETE FROM kysely_migration WHERE name >= '0023'");
    const again = await t.again();
    const access = await again.documents.list('access policy');
    expect(Object.fromEntries(access.map(({ id, body }) => [id, body]))).toEqual({
      ...{ 500: open, 6: closed, 600: closed, 7: closed, zones: closed },
    });
    for (const kind of ['row-level policy', 'field mask policy']) {
      const rules = await again.documents.list<{ layer: string }>(kind);
      expect(rules.map(({ body }) => body.layer).sort()).toEqual(['6', '600', 'zones']);
    }
  });

  it('answers with an error after it is closed', async () => {
    const other = await t.again();
    await other.close();
    await expect(other.check()).rejects.toThrow();
  });
});

describe('the file of a state', () => {
  it('has the tables that its released steps have always made', async () => {
    const t = await temporaryState();
    const raw = new Database(t.place, { readonly: true });
    const tables = raw.prepare('SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name').all();
    raw.close();
    await t.close();
    // A further step makes another number; a change of an earlier one must not.
    expect(hash('sha256', JSON.stringify(tables), 'hex')).toBe(
      'b57c6c01bad477a8c73efb7682d47a9abf31234241870ee753f525d5cff79813',
    );
  });

  it('refuses a file that is no database', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'graticule-state-'));
    const path = join(directory, 'other.db');
    await writeFile(
      path,
      'this is not a database, and it is longer than a header of one hundred bytes'.repeat(3),
    );
    await expect(openState(path, stateWorker())).rejects.toThrow(/not a database/);
    await rm(directory, { recursive: true });
  });
});
