import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifyAudit } from '../../src/cli/verify/audit.js';
import { jsonLine } from '../../src/gateway/audit/admin/audit-export.js';
import { SealKeys } from '../../src/services/access/keys/seal-keys.js';
import { StateCipher } from '../../src/services/access/keys/state-cipher.js';
import { AuditCheckpoints } from '../../src/services/audit/checkpoints.js';
import { type AuditRow, computeRowHash } from '../../src/stores/audit/audit.js';
import { describeStates, type TemporaryState } from '../support/state.js';

const EVENT = {
  ...{ at: 1_700_000_000_000, event_type: 'AdminAction', action: 'a', actor: 'me', actor_type: 'ApiKey' },
  ...{ outcome: 'Success', resource_type: 'api-keys', resource_id: null, correlation_id: 'c' },
  ...{ remote_ip: null, user_agent: null, details: null },
};
const HOUR_MS = 3_600_000;

describeStates('checkpoints of the audit trail', (temporary, database) => {
  let t: TemporaryState;
  let now: number;
  let logged: [string, Record<string, unknown>][];
  beforeEach(async () => {
    t = await temporary();
    now = 1_700_000_000_000;
    logged = [];
  });
  afterEach(() => t.close());

  const checkpoints = (state = t.state) =>
    new AuditCheckpoints({
      ...{ audit: state.audit, store: state.auditCheckpoints, now: () => now },
      keys: new SealKeys(state.documents, new StateCipher('a key of the state')),
      log: {
        write: (event: string, properties: object = {}) => void logged.push([event, { ...properties }]),
      } as never,
    });
  const append = async (count: number, actor = 'me') => {
    await Promise.all(Array.from({ length: count }, () => t.state.audit.append({ ...EVENT, actor })));
  };
  /** Lets statements change the trail, as a person with the database can. */
  const unlock = () =>
    t.run(
      database === 'PostgreSQL'
        ? 'DROP TRIGGER audit_is_append_only ON audit'
        : 'DROP TRIGGER audit_is_not_updated; DROP TRIGGER audit_is_not_deleted',
    );
  const listRows = async () => (await t.state.audit.list({ limit: 10_000 })).reverse();
  /** Writes rows in place of the stored ones, with hashes that fit together. */
  async function restamp(rows: readonly AuditRow[]): Promise<void> {
    const from = rows[0]!.id;
    const [before] = await t.state.audit.list({ beforeId: from, limit: 1 });
    let previous_hash = before?.hash ?? '0'.repeat(64);
    await t.run(`DELETE FROM audit WHERE id >= ${from}`);
    for (const row of rows) {
      const unsigned = { ...row, previous_hash };
      previous_hash = computeRowHash(unsigned);
      await t.state.audit.db
        .insertInto('audit')
        .values({ ...unsigned, hash: previous_hash })
        .execute();
    }
  }
  async function sealed(rows: number): Promise<AuditCheckpoints> {
    const seals = checkpoints();
    await append(rows);
    now += HOUR_MS;
    await seals.sealIfDue();
    return seals;
  }

  it('are written after 1,000 rows or an hour, once for all processes, and logged', async () => {
    const seals = checkpoints();
    await seals.sealIfDue();
    expect((await seals.list()).checkpoints).toEqual([]);
    await append(5);
    const others = [seals, checkpoints(await t.again())];
    await Promise.all(others.map((one) => one.sealIfDue()));
    const { keys, checkpoints: first } = await seals.list();
    expect(keys).toHaveLength(1);
    expect(first.map(({ row_count }) => row_count)).toEqual([5]);
    expect(logged.map(([event, { Rows }]) => [event, Rows])).toEqual([['audit.checkpoint', 5]]);
    await append(999);
    await seals.sealIfDue();
    expect((await seals.list()).checkpoints).toHaveLength(1);
    await append(1);
    await seals.sealIfDue();
    expect((await seals.list()).checkpoints.map(({ row_count }) => row_count)).toEqual([5, 1005]);
    now += HOUR_MS;
    await seals.sealIfDue();
    expect((await seals.list()).checkpoints).toHaveLength(2);
    await append(1);
    await seals.sealIfDue();
    expect((await seals.list()).checkpoints.map(({ row_count }) => row_count)).toEqual([5, 1005, 1006]);
    expect(await seals.verify()).toEqual({ rowsChecked: 1006 });
    const [document] = await t.state.documents.list<{ privateKey: string }>('audit seal key');
    expect(document!.body.privateKey).toMatch(/^sealed:/);
  });

  it('detect a cut tail', async () => {
    const seals = await sealed(10);
    await unlock();
    await t.run('DELETE FROM audit WHERE id > 7');
    expect((await t.state.audit.verify()).broken).toBeUndefined();
    expect((await seals.verify()).broken).toEqual({
      id: 8,
      reason: 'the checkpoint attests 10 rows, and there are 7',
    });
  });

  it('detect a trail that continued after a cut tail, as by a second writer', async () => {
    const seals = await sealed(10);
    await unlock();
    await t.run('DELETE FROM audit WHERE id > 7');
    await append(8, 'other');
    expect((await t.state.audit.verify()).broken).toBeUndefined();
    expect((await seals.verify()).broken).toMatchObject({
      id: 10,
      reason: expect.stringContaining('replaced'),
    });
  });

  it('detect a cut in the middle, also with new hashes', async () => {
    const seals = await sealed(10);
    const rows = await listRows();
    await unlock();
    await t.run('DELETE FROM audit WHERE id = 4');
    expect((await seals.verify()).broken).toMatchObject({
      id: 5,
      reason: expect.stringContaining('missing'),
    });
    const left = rows.filter(({ id }) => id > 4).map((row) => ({ ...row, id: row.id - 1 }));
    await restamp(left);
    expect((await t.state.audit.verify()).broken).toBeUndefined();
    expect((await seals.verify()).broken).toMatchObject({
      id: 10,
      reason: expect.stringContaining('10 rows'),
    });
  });

  it('detect rows that were all written again', async () => {
    const seals = await sealed(10);
    const rows = await listRows();
    await unlock();
    await restamp(rows.map((row) => (row.id === 3 ? { ...row, actor: 'nobody' } : row)));
    expect((await t.state.audit.verify()).broken).toBeUndefined();
    expect((await seals.verify()).broken).toMatchObject({
      id: 10,
      reason: expect.stringContaining('another hash'),
    });
  });

  it('detect a checkpoint that was changed, or signed by another key', async () => {
    const seals = await sealed(10);
    const {
      checkpoints: [own],
    } = await seals.list();
    await t.run(`UPDATE audit_checkpoints SET row_count = 9, last_id = 9 WHERE row_count = 10`);
    expect((await seals.verify()).broken).toMatchObject({ id: 9 });
    await t.run(`DELETE FROM audit_checkpoints`);
    const forger = new AuditCheckpoints({
      ...{ audit: t.state.audit, store: t.state.auditCheckpoints },
      keys: new SealKeys(
        {
          get: async () => undefined,
          create: async (_k: string, _i: string, body: object) => ({ body }),
        } as never,
        new StateCipher(''),
      ),
      log: { write: () => {} },
    });
    await forger.sealIfDue();
    expect((await seals.verify()).broken).toMatchObject({
      reason: expect.stringContaining('not one of the given keys'),
    });
    await t.run(`UPDATE audit_checkpoints SET signature = '${own!.signature}'`);
    expect(await seals.verify()).toEqual({ rowsChecked: 10 });
  });

  it('verify an export without the server', async () => {
    const seals = await sealed(10);
    const folder = mkdtempSync(join(tmpdir(), 'graticule-audit-'));
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const rows = (await listRows()).reverse();
    const { keys, checkpoints: list } = await seals.list();
    const document = write('checkpoints.json', JSON.stringify({ keys, checkpoints: list }));
    const log = write('server.log', `${JSON.stringify(logged[0]![1])}\n`);
    const save = (kept: readonly AuditRow[]) => write('trail.jsonl', kept.map(jsonLine).join(''));
    const output: string[] = [];
    const verify = (kept: readonly AuditRow[], options: object) =>
      verifyAudit(save(kept), options, (text) => void output.push(text));
    for (const checkpoint of [document, log]) await verify(rows, { checkpoint });
    const keyId = (keys[0] as { kid: string }).kid;
    await verify([...rows].reverse(), { checkpoint: log, keyId });
    await verify(rows.slice(0, 4), {});
    expect(output.join('')).toContain(
      '10 rows from 1 to 10 are unchanged and complete\ncompared with 1 of 1',
    );
    expect(output.join('')).toContain('4 rows from 7 to 10');
    const wrong = (kept: readonly AuditRow[], options: object = { checkpoint: document }) =>
      verify(kept, options).then(
        () => 'verified',
        (error: Error) => error.message.replace(/^.*trail\.jsonl: /, ''),
      );
    expect(await wrong(rows.slice(3))).toBe('row 8: the checkpoint attests 10 rows, and the file ends at 7.');
    expect(await wrong(rows.filter(({ id }) => id !== 4))).toBe('row 4: rows 4 to 4 are missing.');
    const changed = rows.map((row) => (row.id === 3 ? { ...row, actor: 'nobody' } : row));
    expect(await wrong(changed)).toBe('row 3: it was changed after it was written.');
    let previous_hash = '0'.repeat(64);
    const again = [...changed].reverse().map((row) => {
      const unsigned = { ...row, previous_hash };
      previous_hash = computeRowHash(unsigned);
      return { ...unsigned, hash: previous_hash };
    });
    expect(await wrong(again, {})).toBe('verified');
    expect(await wrong(again)).toContain('row 10: the checkpoint attests another hash');
    expect(await wrong(rows, { checkpoint: log, keyId: 'other' })).toContain('not by other');
    const forged = write('forged.json', JSON.stringify({ keys: [], checkpoints: list }));
    expect(await wrong(rows, { checkpoint: forged })).toContain('not authentic');
  });
});
