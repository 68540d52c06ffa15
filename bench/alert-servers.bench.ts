import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet, type Part } from '../test/alerts/fleet.js';
import { gateways, residentBytes } from '../test/support/processes.js';
import type { TestServer } from '../test/support/server.js';
import { startReceiver } from '../test/webhooks/receiver.js';
import { type Figure, median, option, publish, type Ratio } from './support/report.js';

/** Alerts of whole servers: the cost for edits without rules, the delay of messages, crashes, a storm, and open timers. */
const rounds = option('rounds', 3);
const OTHER_RULES = option('rules', 10_000);
const ZONES = option('zones', 23_000);
const RATE = option('rate', 200);
const SECONDS = option('seconds', 15);
const ALERTS = option('alerts', 10_000);
const STORM = option('storm', 100_000);
const TIMERS = option('timers', 10_000);
const SERVERS = option('servers', 3);
const KILLS = 10;
const SECRET = 'a secret of the receiver';
const CAP = 600;
/** Features that move, each with a zone. */
const CARS = 1000;
/** Zones are in rows of this length, one per degree. */
const COLUMNS = 300;

const receiver = await startReceiver();
const arrivals: { id: string; at: number; occurredAt: number; kind: string; count: number }[] = [];
receiver.answer = (response, { headers, body }) => {
  const message = JSON.parse(body) as { occurredAt?: string; type: string; count?: number };
  const [id, occurredAt] = [String(headers['x-svc-event-id']), Date.parse(message.occurredAt ?? '')];
  arrivals.push({ id, at: Date.now(), occurredAt, kind: message.type, count: message.count ?? 1 });
  receiver.received.length = 0;
  response.writeHead(204).end();
};

const start = (size: number, cap = 100_000) =>
  Fleet.start(
    size,
    {
      SVC_ALERTS__CHANNELS__WEBHOOK__URL: receiver.url,
      SVC_ALERTS__CHANNELS__WEBHOOK__SECRET: SECRET,
      SVC_ALERTS__CHANNELS__WEBHOOK__RATE_PER_MINUTE: String(cap),
      SVC_EVENTS__RETENTION__COUNT: '1000000',
      SVC_POSTGIS__CAPTURE_EDITS: 'true',
    },
    'CREATE TABLE others (fid serial PRIMARY KEY, geom geometry(Point, 4326), name text)',
  );

const quantile = (values: readonly number[], q: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ?? Number.NaN;
const figures: Figure[] = [];
const ratios: Ratio[] = [];
const show = (name: string, values: Record<string, number>) => {
  const all = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, [value]]));
  console.log(name, values);
  figures.push({ name, rounds: all });
};
const hold = (what: string, value: number, most?: number) =>
  ratios.push({ what, rounds: [value], ...(most === undefined ? {} : { most }) });

/** Place of the zone of a feature, in SQL and in numbers. */
const X = (n: string) => `(${n} % ${COLUMNS} - 150)`;
const Y = (n: string) => `((${n} / ${COLUMNS}) - 45)`;
const placeOf = (n: number): [number, number] => [(n % COLUMNS) - 150, Math.floor(n / COLUMNS) - 45];

/** Zones around places, with 32 vertices each. */
async function addZones(fleet: Fleet, count: number): Promise<void> {
  const rings = Array.from({ length: count }, (_, n) => {
    const [x, y] = placeOf(n);
    const ring = Array.from({ length: 32 }, (_vertex, i): [number, number] => {
      const angle = (i / 32) * 2 * Math.PI;
      return [x + 0.2 * Math.cos(angle), y + 0.2 * Math.sin(angle)];
    });
    return [...ring, ring[0]!];
  });
  const areas = rings.map((ring) => JSON.stringify({ type: 'MultiPolygon', coordinates: [[ring]] }));
  const texts = rings.map(
    (ring) => `MULTIPOLYGON (((${ring.map((position) => position.join(' ')).join(', ')})))`,
  );
  await fleet.state(
    `INSERT INTO graticule_state.alert_zones
      (name, service, is_active, srid, wkt, area_json, metadata_json, created_at, updated_at)
      SELECT 'zone', 'default', 1, 4326, wkt, area, '{}', 0, 0 FROM unnest($1::text[], $2::text[]) AS t (wkt, area)`,
    [texts, areas],
  );
}

/** Copies a rule for many zones, or for one. Without an end of its comparison, as a new rule. */
async function copyRule(fleet: Fleet, id: number, zones: string): Promise<void> {
  const same = `name, service, layer_id, collection, trigger_type, severity, edition, conditions_json,
    cooldown_seconds, is_active, channels_json, author_json, scan, scan_since, view, created_at, updated_at`;
  await fleet.state(`INSERT INTO graticule_state.alert_rules (${same}, zone_id)
    SELECT ${same}, z.id FROM graticule_state.alert_rules, (${zones}) z WHERE alert_rules.id = ${id}`);
  await changeRules(fleet);
}
async function changeRules(fleet: Fleet): Promise<void> {
  await fleet.state(`WITH changed AS (UPDATE graticule_state.alert_revisions SET revision = revision + 1 RETURNING revision),
    zones AS (UPDATE graticule_state.alert_zones SET revision = (SELECT revision FROM changed))
    UPDATE graticule_state.alert_rules SET revision = (SELECT revision FROM changed)`);
  await sleep(3000);
}

async function put(server: TestServer, id: number, x: number, y: number, table = 'cars'): Promise<void> {
  const response = await fetch(`${server.url}/ogc/features/collections/${table}/items/${id}`, {
    method: 'PUT',
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
    body: JSON.stringify({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [x, y] },
      properties: { name: 'car' },
    }),
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`PUT: ${response.status}`);
}
const addCars = (fleet: Fleet, count: number) =>
  fleet.geo(`INSERT INTO cars (fid, geom, name)
    SELECT n, ST_SetSRID(ST_MakePoint(${X('(n - 1)')} + 0.5, ${Y('(n - 1)')}::float8), 4326), 'car' FROM generate_series(1, ${count}) n`);
const countEvents = async (fleet: Fleet, where = 'true') =>
  (
    await fleet.state<{ n: number }>(
      `SELECT count(*)::int AS n FROM graticule_state.alert_events WHERE ${where}`,
    )
  )[0]!.n;
async function reach(fleet: Fleet, events: number, ms: number): Promise<number> {
  const begin = performance.now();
  while ((await countEvents(fleet)) < events && performance.now() - begin < ms) await sleep(100);
  return (performance.now() - begin) / 1000;
}

/** Goal 2: p50 of an edit without rules, and beside many rules of another layer. */
async function measureOthers(): Promise<void> {
  const fleet = await start(1);
  const [server] = fleet.servers as [TestServer];
  await addCars(fleet, CARS);
  await addZones(fleet, OTHER_RULES);
  const layerId = await fleet.findLayer('others');
  const [{ id: zoneId }] = (await fleet.state<{ id: number }>(
    'SELECT min(id)::int AS id FROM graticule_state.alert_zones',
  )) as [{ id: number }];
  const rule = await fleet.addRule({ triggerType: 'enter', zoneId, layerId });
  await copyRule(fleet, rule, `SELECT id FROM graticule_state.alert_zones WHERE id <> ${zoneId}`);
  await fleet.untilCompared();
  const times: Record<string, number[]> = { without: [], with: [] };
  const ratio: Ratio = {
    what: `p50 of an edit, ${OTHER_RULES} rules on another layer / no rule`,
    rounds: [],
    most: 1.05,
  };
  for (let round = 0; round <= rounds; round++) {
    const p50: Record<string, number> = {};
    for (const [name, isActive] of [
      ['without', 0],
      ['with', 1],
    ] as const) {
      await fleet.state(`UPDATE graticule_state.alert_rules SET is_active = ${isActive}`);
      await changeRules(fleet);
      await sleep(9000);
      const own: number[] = [];
      for (let i = 0; i < 300; i++) {
        const begin = performance.now();
        await put(server, 1 + (i % CARS), 10 + (i % 7), 10);
        own.push(performance.now() - begin);
      }
      p50[name] = median(own);
      if (round > 0) times[name]!.push(p50[name]!);
    }
    if (round > 0) ratio.rounds.push(p50['with']! / p50['without']!);
  }
  figures.push({ name: 'edit without rules', rounds: { 'p50 ms': times['without']! } });
  figures.push({ name: `edit beside ${OTHER_RULES} rules`, rounds: { 'p50 ms': times['with']! } });
  console.log(times, ratio);
  ratios.push(ratio);
  await fleet.stop();
}

/** Goal 3: from the time of the edit to the first byte of the message. */
async function measureDelay(size: number, rate: number): Promise<void> {
  const fleet = await start(size);
  await addCars(fleet, CARS);
  await addZones(fleet, ZONES);
  const [{ id: zoneId }] = (await fleet.state<{ id: number }>(
    'SELECT min(id)::int AS id FROM graticule_state.alert_zones',
  )) as [{ id: number }];
  const rule = await fleet.addRule({ triggerType: 'enter', zoneId, channels: ['webhook'] });
  await copyRule(fleet, rule, `SELECT id FROM graticule_state.alert_zones WHERE id <> ${zoneId}`);
  await fleet.untilCompared();
  await put(fleet.servers[0]!, CARS, 0.9, 89);
  arrivals.length = 0;
  const edits = rate * SECONDS;
  const running = new Set<Promise<void>>();
  const begin = performance.now();
  let failed = 0;
  for (let i = 0; i < edits; i++) {
    const wait = begin + (i * 1000) / rate - performance.now();
    if (wait > 0) await sleep(wait);
    // Half of the edits enter the zone of their feature, and half leave it.
    const [car, isEntry] = [Math.floor(i / 2) % CARS, i % 2 === 0];
    const [x, y] = placeOf(car);
    while (running.size >= 32) await Promise.race(running);
    const one = put(fleet.servers[i % size]!, car + 1, x + (isEntry ? 0 : 0.5), y)
      .catch(() => void failed++)
      .finally(() => running.delete(one));
    running.add(one);
  }
  await Promise.all(running);
  const seconds = (performance.now() - begin) / 1000;
  await sleep(3000);
  const events = await countEvents(fleet);
  const delays = arrivals.filter(({ kind }) => kind === 'alert').map(({ at, occurredAt }) => at - occurredAt);
  show(`${size} servers, ${rate} edits/s wanted, ${ZONES} zones`, {
    'edits/s': edits / seconds,
    'failed edits': failed,
    alerts: events,
    'edit to first byte, p50 ms': quantile(delays, 0.5),
    'p99 ms': quantile(delays, 0.99),
  });
  hold(`${size} servers: alerts without a message`, events - new Set(arrivals.map(({ id }) => id)).size, 0);
  if (size > 1) hold(`edit to first byte on ${size} servers, p99 ms`, quantile(delays, 0.99), 250);
  else hold('edit to first byte on one server, p50 ms', quantile(delays, 0.5), 25);
  await fleet.stop();
}

/** Goal 4: alerts and messages under crashes. */
async function measureKills(): Promise<void> {
  const fleet = await start(2);
  await addCars(fleet, CARS);
  const zoneId = await fleet.addZone('POLYGON ((-170 80, 170 80, 170 89, -170 89, -170 80))');
  await fleet.addRule({ triggerType: 'enter', zoneId, channels: ['webhook'] });
  await fleet.untilCompared();
  arrivals.length = 0;
  let isOver = false;
  let entered = 0;
  const move = async () => {
    for (let step = 0; entered < ALERTS; step++) {
      const from = (step * 100) % CARS;
      const cars = `fid > ${from} AND fid <= ${from + 100}`;
      await fleet.geo(
        `UPDATE cars SET geom = ST_SetSRID(ST_MakePoint((fid % 100)::float8, 85), 4326) WHERE ${cars}`,
      );
      await fleet.geo(
        `UPDATE cars SET geom = ST_SetSRID(ST_MakePoint((fid % 100)::float8, 0), 4326) WHERE ${cars}`,
      );
      entered += 100;
      await sleep(300);
    }
    isOver = true;
  };
  const moving = move();
  const parts: Part[] = ['gateway', 'supervisor', 'gateway', 'engine'];
  for (let kill = 0; kill < KILLS && !isOver; kill++) {
    await sleep(2000);
    await fleet.crash(fleet.servers[kill % 2]!, parts[kill % parts.length]!);
  }
  await moving;
  await reach(fleet, entered, 60_000);
  await sleep(3000);
  const late = performance.now() + 120_000;
  const known = () => new Set(arrivals.map(({ id }) => id)).size;
  while (known() < entered && performance.now() < late) await sleep(200);
  const events = await countEvents(fleet);
  show(`${entered} entering features, ${KILLS} crashes, 2 servers`, {
    alerts: events,
    'messages lost': events - known(),
    'messages sent twice': arrivals.length - known(),
  });
  hold('alerts lost or repeated under ten crashes', Math.abs(entered - events), 0);
  hold('messages lost under ten crashes', events - known(), 0);
  hold('messages sent twice per crash', (arrivals.length - known()) / KILLS, 20);
  await fleet.stop();
}

/** Event-loop turns of a server beyond 10 ms of processor time. */
async function readTurns(server: TestServer): Promise<{ long: number; longest: number }> {
  const text = await (
    await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } })
  ).text();
  const value = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? Number.NaN);
  const all = value(/^svc_gateway_event_loop_turn_ms_count\S* (\S+)/m);
  const below = value(/^svc_gateway_event_loop_turn_ms_bucket\{[^}]*le="10"[^}]*\} (\S+)/m);
  return { long: all - below, longest: value(/^svc_gateway_event_loop_longest_turn_ms\S* (\S+)/m) };
}

/** Goal 5: many features enter by one statement of another program. */
async function measureStorm(): Promise<void> {
  const fleet = await start(1, CAP);
  const [server] = fleet.servers as [TestServer];
  const zoneId = await fleet.addZone('POLYGON ((-10 -10, 10 -10, 10 10, -10 10, -10 -10))');
  await fleet.addRule({ triggerType: 'enter', zoneId, channels: ['webhook'] });
  await fleet.untilCompared();
  arrivals.length = 0;
  const [gateway] = gateways(server.process.pid!) as [number];
  const memory = residentBytes(gateway);
  const before = await readTurns(server);
  let peak = memory;
  const watching = setInterval(() => (peak = Math.max(peak, residentBytes(gateway))), 200);
  await fleet.geo(`INSERT INTO cars (geom, name) SELECT ST_SetSRID(ST_MakePoint((n % 190) / 10.0 - 9, (n % 170) / 10.0 - 8), 4326), 'car'
    FROM generate_series(1, ${STORM}) n`);
  const seconds = await reach(fleet, STORM, 600_000);
  const events = await countEvents(fleet);
  await fleet.untilCompared();
  const compared = performance.now();
  await sleep(2000);
  clearInterval(watching);
  const after = await readTurns(server);
  show(`${STORM} features enter by one statement`, {
    alerts: events,
    'seconds until the last alert': seconds,
    'event-loop turns above 10 ms': after.long - before.long,
    'longest turn, ms of CPU': after.longest,
    'more memory, MB': (peak - memory) / 1e6,
    messages: arrivals.length,
  });
  hold('seconds until all alerts of the storm are recorded', seconds, 60);
  hold('event-loop turns above 10 ms in the storm', after.long - before.long, 0);
  hold('more memory in the storm, MB', (peak - memory) / 1e6, 200);
  hold(
    'messages of the storm',
    arrivals.length,
    CAP * (1 + Math.ceil((performance.now() - compared + seconds * 1000) / 60_000)),
  );
  await fleet.stop();
}

/** Goal 6: timers that become due after a crash of the leader. */
async function measureTimers(): Promise<void> {
  const fleet = await start(2);
  const zoneId = await fleet.addZone('POLYGON ((-10 -10, 10 -10, 10 10, -10 10, -10 -10))');
  await fleet.addRule({ triggerType: 'dwell', zoneId, conditionsJson: '{"dwellSeconds":45}' });
  await fleet.untilCompared();
  for (let n = 0; n < TIMERS; n += 500)
    await fleet.geo(`INSERT INTO cars (geom, name)
      SELECT ST_SetSRID(ST_MakePoint(random() * 18 - 9, random() * 18 - 9), 4326), 'car' FROM generate_series(1, 500) n`);
  const open = async () =>
    (
      await fleet.state<{ n: number }>(
        'SELECT count(*)::int AS n FROM graticule_state.alert_states WHERE due_at IS NOT NULL',
      )
    )[0]!.n;
  while ((await open()) + (await countEvents(fleet)) < TIMERS) await sleep(100);
  const opened = await open();
  await fleet.crash((await fleet.findLeader())!, 'supervisor');
  await reach(fleet, TIMERS, 180_000);
  const rows = await fleet.state<{ late: number }>(
    'SELECT (started_at - occurred_at)::float8 AS late FROM graticule_state.alert_events',
  );
  const late = rows.map((row) => row.late);
  show(`${TIMERS} dwell timers, the leader crashes`, {
    'open at the crash': opened,
    alerts: late.length,
    'late, p50 ms': quantile(late, 0.5),
    'late, p99 ms': quantile(late, 0.99),
    'late, maximum ms': Math.max(...late),
  });
  hold('dwell alerts later than due, maximum ms', Math.max(...late), 1000);
  await fleet.stop();
}

const PARTS: Record<string, () => Promise<void>> = {
  others: measureOthers,
  alone: () => measureDelay(1, 20),
  delay: () => measureDelay(SERVERS, RATE),
  kills: measureKills,
  storm: measureStorm,
  timers: measureTimers,
};
const wanted = process.argv.find((one) => one.startsWith('--part='))?.slice(7);
for (const [name, measure] of Object.entries(PARTS)) if (!wanted || wanted === name) await measure();
await receiver.close();
if (!wanted)
  publish({
    bench: 'alert-servers',
    command: './run bench alert-servers',
    about: `SYNTHETIC: whole servers on one PostgreSQL. Edits of ${CARS} points beside ${OTHER_RULES} rules of another layer; ${RATE} edits per second on ${SERVERS} servers beside ${ZONES} zones of 32 vertices; ${ALERTS} alerts under ${KILLS} crashes of processes; ${STORM} features that enter by one statement; ${TIMERS} dwell timers. Delays are from the time of the edit, before its commit.`,
    figures,
    ratios,
    notes: ['Other work ran on the machine with two cores: wall times are those of a busy machine.'],
  });
else console.log(JSON.stringify({ figures, ratios }, null, 1));
