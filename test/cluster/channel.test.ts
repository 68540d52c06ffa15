import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { PostgresChannel } from '../../src/stores/database/postgres-channel.js';
import { StateSignals } from '../../src/stores/database/signals.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

describe('notes between servers of a state in PostgreSQL', () => {
  let postgres: TestPostgres;
  const open: PostgresChannel[] = [];
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.stop());
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  async function channel(server: string) {
    const notes: unknown[] = [];
    let opened = 0;
    const signals = new StateSignals('notifications');
    const setHeard = signals.setHeard.bind(signals);
    signals.setHeard = (isHeard) => {
      if (isHeard) opened++;
      setHeard(isHeard);
    };
    const one = new PostgresChannel({
      url: postgres.url,
      server,
      connectMs: 5000,
      heard: (note) => void notes.push(note),
      signals,
    });
    open.push(one);
    await vi.waitFor(() => expect(opened).toBe(1), 10_000);
    const send = (note: unknown) => new Promise<boolean>((resolve) => one.send(note, resolve));
    return { send, notes, opened: () => opened };
  }

  it('reach all processes of other servers in their order, and none of the own', async () => {
    const [a1, a2, b, c] = [await channel('a'), await channel('a'), await channel('b'), await channel('c')];
    const notes = Array.from({ length: 50 }, (_, n) => ({ n, text: 'é€😀' }));
    expect(await Promise.all(notes.map((note) => a1.send(note)))).toEqual(notes.map(() => true));
    await vi.waitFor(() => {
      expect(b.notes).toEqual(notes);
      expect(c.notes).toEqual(notes);
    });
    expect([a1.notes, a2.notes]).toEqual([[], []]);
  });

  it('may be larger than a notification, and come whole from several at once', async () => {
    const [a, b, c] = [await channel('a'), await channel('b'), await channel('c')];
    const large = (from: string) => ({ from, text: '😀\u0000"'.repeat(20_000) });
    await Promise.all([a.send(large('a')), b.send(large('b')), a.send({ small: 1 })]);
    await vi.waitFor(() => expect(c.notes).toHaveLength(3));
    for (const note of [large('a'), large('b'), { small: 1 }]) expect(c.notes).toContainEqual(note);
  });

  it('that are told without a connection are lost, and those after it is back are not', async () => {
    const [a, b] = [await channel('a'), await channel('b')];
    await postgres.halt();
    await vi.waitFor(async () => expect(await a.send({ lost: true })).toBe(false));
    await postgres.start();
    await vi.waitFor(() => expect([a.opened(), b.opened()]).toEqual([2, 2]), 20_000);
    expect(await a.send({ again: true })).toBe(true);
    await vi.waitFor(() => expect(b.notes).toEqual([{ again: true }]));
  });

  it('of strangers are not taken for notes', async () => {
    const a = await channel('a');
    const pg = await import('pg');
    const client = new pg.default.Client({ connectionString: postgres.url });
    await client.connect();
    for (const text of ['', 'x', 'b 1 1 0\n{', '\n', 'b 2 3 0\n{}'])
      await client.query('SELECT pg_notify($1, $2)', ['graticule_state', text]);
    await client.query('SELECT pg_notify($1, $2)', ['graticule_state', 'b 3 1 0\n{"fine":1}']);
    await client.end();
    await vi.waitFor(() => expect(a.notes).toEqual([{ fine: 1 }]));
  });
});
