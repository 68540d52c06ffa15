import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import type { AuditEvent } from '../../src/stores/audit/audit.js';
import { AuditBacklog } from '../../src/stores/audit/audit-backlog.js';
import { eventually, json } from '../e2e/support/http.js';
import { geoPackageStore } from '../edits/support.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { repetitions } from '../support/soak.js';
import { describeStates, type TemporaryState } from '../support/state.js';

/** Rows of edits that the state refuses are kept in the data folder, and written once it accepts them. */

const event = (n: number): AuditEvent => ({
  ...{ at: 1000 + (n >> 1), event_type: 'AdminAction', action: 'features.createItem' },
  ...{ actor: 'api-key:a', actor_type: 'ApiKey', outcome: 'Success' },
  ...{ resource_type: 'features', resource_id: `spots/${n}`, correlation_id: 'c' },
  ...{ remote_ip: null, user_agent: 'a \0 b', details: '{"status":201}' },
});

describeStates('audit rows that wait', (temporary) => {
  let t: TemporaryState;
  let isAway = false;
  const backlogs: AuditBacklog[] = [];
  beforeEach(async () => {
    t = await temporary();
    isAway = false;
  });
  afterEach(async () => {
    for (const backlog of backlogs.splice(0)) backlog.close();
    await t.close();
  });

  const appendMissing = (events: readonly AuditEvent[]) =>
    isAway ? Promise.reject(new Error('away')) : t.state.audit.appendMissing(events);
  function backlog(): AuditBacklog {
    const made = new AuditBacklog(t.directory, { appendMissing }, () => {});
    backlogs.push(made);
    return made;
  }
  const files = () => readdirSync(t.directory).filter((name) => name.startsWith('audit-backlog'));
  const written = async () => {
    const rows = await t.state.audit.list({ limit: 1000 });
    expect((await t.state.audit.verify()).broken).toBeUndefined();
    return rows.map(({ resource_id: id }) => Number(id!.slice('spots/'.length))).reverse();
  };
  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

  it('are written in their order, once, by the process that kept them', async () => {
    isAway = true;
    const one = backlog();
    await Promise.all(numbers(0, 300).map((n) => one.keep(event(n))));
    await one.drain();
    expect([one.isEmpty, await written()]).toEqual([false, []]);
    await one.keep(event(300));
    isAway = false;
    await one.drain();
    expect([one.isEmpty, await written(), files()]).toEqual([true, numbers(0, 301), []]);
  });

  it('are written by the next process, also those of a commit whose outcome was not known', async () => {
    isAway = true;
    const first = backlog();
    for (const n of [0, 1, 2]) await first.keep(event(n));
    await first.drain();
    // A process that ended while it wrote rows, of which some are there; and while it kept one.
    await t.state.audit.append(event(0));
    await first.keep(event(3));
    appendFileSync(join(t.directory, 'audit-backlog.jsonl'), `\n${JSON.stringify(event(4)).slice(0, 50)}`);
    await backlog().keep(event(5));
    isAway = false;
    const next = backlog();
    await next.drain(true);
    expect([await written(), files()]).toEqual([[0, 1, 2, 3, 5], []]);
    await first.drain();
    expect([first.isEmpty, await written()]).toEqual([true, [0, 1, 2, 3, 5]]);
  });

  it('wait for a disk that is full for a moment, and are refused when it stays so', async () => {
    const folder = join(t.directory, 'later');
    const one = new AuditBacklog(folder, { appendMissing }, () => {});
    backlogs.push(one);
    await expect(one.keep(event(0))).rejects.toThrow(/ENOENT/);
    const keeping = one.keep(event(1));
    mkdirSync(folder);
    await keeping;
    await one.drain();
    expect(await written()).toEqual([1]);
  });
});

it('loses no row when another process takes the file while rows are kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-backlog-'));
  const found = new Set<string>();
  const store = {
    async appendMissing(events: readonly AuditEvent[]) {
      for (const { resource_id: id } of events) found.add(id!);
    },
  };
  const [one, other] = [0, 1].map(() => new AuditBacklog(folder, store, () => {})) as [
    AuditBacklog,
    AuditBacklog,
  ];
  let isKeeping = true;
  const keeping = (async () => {
    for (let n = 0; n < 50; n += 1) await one.keep(event(n));
    isKeeping = false;
  })();
  while (isKeeping) await other.drain(true);
  await keeping;
  await one.drain();
  expect([found.size, readdirSync(folder)]).toEqual([50, []]);
  one.close();
  other.close();
  rmSync(folder, { recursive: true });
});

const ROUNDS = repetitions(import.meta.url, 20, 2);

it('each edit that was answered has its row, whatever the state did and when the server was killed', async () => {
  const store = geoPackageStore();
  let server: TestServer | undefined;
  const dataDir = join(store.file, '..', 'data');
  mkdirSync(dataDir);
  const answered = new Set<string>();
  function inState(sql: string) {
    const db = new Database(join(dataDir, 'state.db'), { timeout: 10_000 });
    db.exec(sql);
    db.close();
  }
  const refuse = () =>
    inState("CREATE TRIGGER refuses BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'not now'); END");
  const accept = () => inState('DROP TRIGGER IF EXISTS refuses');
  const edit = async () => {
    const response = await fetch(`${server!.url}/ogc/features/collections/spots/items`, {
      method: 'POST',
      headers: { 'x-api-key': server!.adminKey, 'content-type': 'application/geo+json' },
      body: JSON.stringify({
        ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { name: 'a' } },
      }),
    });
    expect([response.status, await response.text()]).toEqual([201, expect.any(String)]);
    answered.add(`spots/${response.headers.get('location')!.split('/').at(-1)}`);
  };
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      server = await startServerProcess({ sources: store.sources, dataDir });
      accept();
      await Promise.all([edit(), edit(), edit()]);
      refuse();
      await Promise.all([edit(), edit(), edit(), edit()]);
      // In every other round the state accepts rows again before the end.
      if (round % 2 === 1) {
        accept();
        await edit();
      }
      await server.kill();
      await server.stop().catch(() => {});
    }
    server = await startServerProcess({ sources: store.sources, dataDir });
    accept();
    const headers = { 'x-api-key': server.adminKey };
    const url = `${server.url}/api/v1/admin/observability/audit`;
    await eventually(async () => {
      const page = await json(`${url}?resourceType=features&pageSize=200`, { headers });
      const ids = page.items.map(({ resourceId }: { resourceId: string }) => resourceId);
      expect(ids.sort()).toEqual([...answered].sort());
    });
    expect(await (await fetch(`${url}/verify`, { headers })).json()).toMatchObject({ verified: true });
  } finally {
    await server?.stop().catch(() => {});
    await store.release();
  }
});
