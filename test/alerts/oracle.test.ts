import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { pythonOfClients } from '../support/python.js';
import { randomNumbers } from '../support/random.js';
import { repetitions } from '../support/soak.js';
import { temporaryState } from '../support/state.js';
import { openWorld, type Position } from './world.js';

const EDITS = repetitions(import.meta.url, 20_000, 1500);
const [ZONES, FEATURES] = [EDITS / 10, Math.ceil(EDITS / 60)];
const SEED = 52;
const random = randomNumbers(SEED);
const between = (least: number, most: number) => least + random() * (most - least);
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

type Ring = [number, number][];
const text = (ring: Ring) => `(${[...ring, ring[0]!].map(([x, y]) => `${x} ${y}`).join(',')})`;

/** A ring round a place, counterclockwise and never across itself. */
function star(x: number, y: number, radius: number, height = 1): Ring {
  const corners = 5 + Math.floor(random() * 18);
  return Array.from({ length: corners }, (_, i) => {
    const angle = ((i + random() * 0.8) / corners) * 2 * Math.PI;
    const reach = radius * between(0.4, 1);
    return [x + reach * Math.cos(angle), y + height * reach * Math.sin(angle)];
  });
}

const withHole = (x: number, y: number, radius: number) =>
  `(${text(star(x, y, radius))},${text(star(x, y, radius * 0.1))})`;

function makeZone(): { wkt: string; srid: number } {
  const kind = random();
  const [lon, lat, size] = [between(-160, 160), between(-60, 60), between(1, 15)];
  if (kind < 0.4) return { wkt: `POLYGON${withHole(lon, lat, size)}`, srid: 4326 };
  if (kind < 0.55)
    return {
      wkt: `MULTIPOLYGON(${withHole(lon, lat, size)},(${text(star(lon + 3 * size, lat, size))}))`,
      srid: 4326,
    };
  if (kind < 0.7) return { wkt: `POLYGON(${text(star(pick([-180, 180]), lat, size))})`, srid: 4326 };
  if (kind < 0.8)
    return {
      wkt: `POLYGON${withHole(between(-5e5, 5e5), between(-5e5, 5e5), between(1e6, 2.5e6))}`,
      srid: pick([3995, 3031]),
    };
  if (kind < 0.9)
    return {
      wkt: `POLYGON${withHole(between(-1.5e7, 1.5e7), between(-6e6, 6e6), between(1e5, 2e6))}`,
      srid: 3857,
    };
  return { wkt: `POLYGON${withHole(between(3e5, 7e5), between(5e5, 8e6), between(1e5, 4e5))}`, srid: 32632 };
}

interface Edit {
  id: string;
  position?: Position | null;
  deleted?: true;
}

/** Moves near one another, so that many cross a border; some features vanish, and some lose their place. */
function makeEdits(): Edit[] {
  const places = new Map<string, Position>();
  return Array.from({ length: EDITS }, () => {
    const id = String(1 + Math.floor(random() * FEATURES));
    const before = places.get(id);
    if (before && random() < 0.03) {
      places.delete(id);
      return { id, deleted: true };
    }
    if (random() < 0.02) return { id, position: null };
    const [x, y] = before ?? [between(-180, 180), between(-89, 89)];
    const isFar = !before || random() < 0.2;
    const lon = isFar ? between(-180, 180) : x + between(-4, 4);
    const lat = isFar ? between(-89, 89) : Math.max(-89, Math.min(89, y + between(-4, 4)));
    const position: Position = [lon > 180 ? lon - 360 : lon < -180 ? lon + 360 : lon, lat];
    places.set(id, position);
    return { id, position };
  });
}

it(`agrees with shapely on ${ZONES} zones and ${EDITS} edits (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const zones = Array.from({ length: ZONES }, makeZone);
  const rules = zones.map((_, zone) => ({
    zone,
    trigger: pick(['enter', 'exit'] as const),
    relation: pick(['intersects', 'within'] as const),
  }));
  const edits = makeEdits();
  const oracle = spawnSync(pythonOfClients(), ['test/alerts/oracle.py'], {
    input: JSON.stringify({ zones, rules, edits }),
    maxBuffer: 1e9,
    encoding: 'utf8',
  });
  expect(oracle.stderr).toBe('');
  const expected = JSON.parse(oracle.stdout) as [number, string][];

  const temporary = await temporaryState();
  const world = await openWorld(temporary);
  const ids: number[] = [];
  for (const { wkt, srid } of zones) ids.push(await world.addZone(wkt, srid));
  const numbers = new Map<number, number>();
  for (const [i, { zone, trigger, relation }] of rules.entries())
    numbers.set(await world.addRule({ trigger, zone: ids[zone]!, conditions: { relation } }), i);
  world.start();
  await world.settled();
  for (let i = 0; i < edits.length; i += 250) {
    const part = edits.slice(i, i + 250);
    await world.append(
      part.map(({ id, position, deleted }) => world.change(id, deleted ? undefined : position)),
    );
  }
  await world.settled();
  const found = (await world.events()).map((row): [number, string] => [
    numbers.get(row.rule_id!)!,
    row.feature_id,
  ]);
  await world.close();
  await temporary.close();

  expect(expected.length).toBeGreaterThan(EDITS / 10);
  // Rules are evaluated in the order of their ids, so the complete order is that of the edits.
  expect(found).toEqual(expected);
});
