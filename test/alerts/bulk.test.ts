import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROGRAMS } from '../support/postgres.js';
import { isFullRun, repetitions } from '../support/soak.js';
import { until } from '../webhooks/receiver.js';
import { Fleet } from './fleet.js';

/** Edits of many rows, and edits while no server runs, are not all in the feed. Comparisons find what they triggered. */

const COPIED = repetitions(import.meta.url, 50_000, 3000);
const CARS = 800;
const MOVES = isFullRun(import.meta.url) ? 5000 : 3000;
const RETENTION = 1000;
const LATE_MS = 300_000;
const ZONE = 'POLYGON ((10 10, 20 10, 20 20, 10 20, 10 10))';
const INSIDE = `ST_Intersects(geom, ST_GeomFromText('${ZONE}', 4326))`;

let fleet: Fleet;
let rules: { enter: number; exit: number };

beforeAll(async () => {
  fleet = await Fleet.start(1, {
    SVC_POSTGIS__CAPTURE_EDITS: 'true',
    SVC_EVENTS__RETENTION__COUNT: String(RETENTION),
  });
  const zoneId = await fleet.addZone(ZONE);
  rules = {
    enter: await fleet.addRule({ triggerType: 'enter', zoneId }),
    exit: await fleet.addRule({ triggerType: 'exit', zoneId }),
  };
  await fleet.untilCompared();
}, 200_000);
afterAll(() => fleet?.stop());

const idsOf = async (sql: string) => (await fleet.geo<{ fid: number }>(sql)).map(({ fid }) => String(fid));
const insideNow = () => idsOf(`SELECT fid FROM cars WHERE ${INSIDE} ORDER BY fid`);
async function states(rule: number): Promise<string[]> {
  const sql = `SELECT feature_id AS id FROM graticule_state.alert_states
    WHERE rule_id = $1 AND is_inside = 1 ORDER BY feature_id::bigint`;
  return (await fleet.state<{ id: string }>(sql, [rule])).map(({ id }) => id);
}
const events = async (rule: number, after = 0) =>
  fleet.state<{ id: number; feature_id: string; detected_by: string }>(
    `SELECT id::int, feature_id, detected_by FROM graticule_state.alert_events
      WHERE rule_id = $1 AND id > $2 ORDER BY feature_id::bigint`,
    [rule, after],
  );
const newest = async () =>
  (
    await fleet.state<{ id: number }>(
      'SELECT coalesce(max(id), 0)::int AS id FROM graticule_state.alert_events',
    )
  )[0]!.id;

/** Resolves when the states of both rules are those of the table. */
async function agree(): Promise<string[]> {
  const inside = await insideNow();
  await until(async () => {
    const all = await Promise.all(Object.values(rules).map(states));
    return all.every((ids) => ids.length === inside.length);
  }, LATE_MS);
  await fleet.untilCompared();
  for (const rule of Object.values(rules)) expect(await states(rule)).toEqual(inside);
  return inside;
}

it(`find ${COPIED} features that psql copies`, { timeout: LATE_MS }, async () => {
  const rows = Array.from(
    { length: COPIED },
    (_, i) => `SRID=4326;POINT(${(i % 300) / 10} ${(i % 290) / 10})\tcar`,
  );
  const copy = spawnSync(
    `${PROGRAMS}/psql`,
    [fleet.postgres.url, '-v', 'ON_ERROR_STOP=1', '-c', 'COPY cars (geom, name) FROM STDIN'],
    { input: `${rows.join('\n')}\n`, encoding: 'utf8' },
  );
  expect([copy.status, copy.stderr]).toEqual([0, '']);
  const inside = await agree();
  expect(inside.length).toBeGreaterThan(COPIED / 20);
  const found = await events(rules.enter);
  expect(found.map(({ feature_id }) => feature_id)).toEqual(inside);
  expect(new Set(found.map(({ detected_by }) => detected_by))).toEqual(new Set(['rescan']));
  expect(await events(rules.exit)).toEqual([]);
});

it(`find what ${MOVES} edits triggered while no server ran`, { timeout: LATE_MS }, async () => {
  const before = new Set(await insideNow());
  const last = await newest();
  await fleet.without(async () => {
    for (let move = 0; move < MOVES; move += 100)
      await fleet.geo(`UPDATE cars SET geom = ST_SetSRID(ST_MakePoint(
        (fid * 7 + ${move}) % 30 + 0.5, (fid * 3 + ${move}) % 30 + 0.5), 4326)
        WHERE fid BETWEEN ${1 + (move % CARS)} AND ${100 + (move % CARS)}`);
  });
  const inside = await agree();
  const now = new Set(inside);
  const entered = inside.filter((id) => !before.has(id));
  const left = [...before].filter((id) => !now.has(id));
  expect(Math.min(entered.length, left.length)).toBeGreaterThan(10);
  const ids = async (rule: number) => new Set((await events(rule, last)).map(({ feature_id }) => feature_id));
  const [enters, exits] = [await ids(rules.enter), await ids(rules.exit)];
  // Features that were in the zone only in between can have alerts too, if their edits are still in the feed.
  expect(entered.filter((id) => !enters.has(id))).toEqual([]);
  expect(left.filter((id) => !exits.has(id))).toEqual([]);
});
