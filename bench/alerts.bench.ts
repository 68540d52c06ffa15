import { spawnSync } from 'node:child_process';
import { parseConditions } from '../src/core/alerts/conditions.js';
import type { Pools } from '../src/core/tasks/tasks.js';
import { Batch } from '../src/services/alerts/evaluation/batch.js';
import { type CompiledRule, LayerRules } from '../src/services/alerts/evaluation/layer-rules.js';
import { type FeatureRevision, matchRules } from '../src/services/alerts/evaluation/rule-matches.js';
import { matchZones } from '../src/workers/alerts/zone-match.js';
import { pythonOfClients } from '../test/support/python.js';
import { randomNumbers } from '../test/support/random.js';
import { option, publish, type Ratio } from './support/report.js';

/** CPU of a move of a point beside 10 to 100,000 zones: from the entry of the feed to the alerts that follow. */
const rounds = option('rounds', 3);
const MOVES = option('moves', 20_000);
const BATCH = 500;
const SIZES = [10, 1000, 23_000, 100_000];
const VERTICES = 32;
/** Side of the area that the zones are in, in degrees, and radius of a zone. */
const [SIDE, RADIUS] = [100, 0.12];
const random = randomNumbers(52);

type Ring = [number, number][];

function makeZone(): Ring {
  const [x, y] = [random() * SIDE, random() * SIDE - 50];
  const corners = Array.from({ length: VERTICES }, (_, i): [number, number] => {
    const angle = (i / VERTICES) * 2 * Math.PI;
    const reach = RADIUS * (0.7 + 0.3 * random());
    return [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
  });
  return [...corners, corners[0]!];
}

const place = (): [number, number] => [random() * SIDE, random() * SIDE - 50];
const step = ([x, y]: [number, number]): [number, number] => [
  x + random() * 0.02 - 0.01,
  y + random() * 0.02 - 0.01,
];
const point = (coordinates: [number, number]) => JSON.stringify({ type: 'Point', coordinates });

interface Move {
  readonly id: string;
  readonly from: [number, number];
  readonly to: [number, number];
}

function makeMoves(): Move[] {
  const places = Array.from({ length: 1000 }, place);
  return Array.from({ length: MOVES }, (_, i) => {
    const car = i % places.length;
    const from = places[car]!;
    const to = step(from);
    places[car] = to;
    return { id: String(car + 1), from, to };
  });
}

function makeRules(zones: readonly Ring[]): LayerRules {
  const layer = new LayerRules({} as LayerRules['collection']);
  const conditions = parseConditions('{}', 'enter');
  zones.forEach((ring, i) => {
    const zone = {
      id: i + 1,
      name: 'zone',
      area_json: JSON.stringify({ type: 'MultiPolygon', coordinates: [[ring]] }),
    };
    const rule = {
      ...{ row: { id: i + 1, name: 'rule', cooldown_seconds: 0 }, trigger: 'enter', conditions },
      ...{ channels: [], scope: { fields: undefined, collection: { title: 'Cars' } }, view: '' },
      ...{ createdAt: 0, start: undefined, kept: undefined },
    };
    layer.add(rule as unknown as CompiledRule, zone as never);
  });
  return layer;
}

const pools = { run: async (_name: string, task: never) => matchZones(task) } as unknown as Pools;

/** CPU microseconds of a move, and the number of entered zones. */
async function evaluate(
  layer: LayerRules,
  moves: readonly Move[],
): Promise<{ cpu: number; entered: number }> {
  const now = Date.now();
  const batch = new Batch(now, []);
  const revisions = moves.map(
    ({ id, from, to }): FeatureRevision => ({
      featureId: id,
      before: { id, geometry: point(from), attributes: '{}' },
      after: { id, geometry: point(to), attributes: '{}' },
      at: now,
      changedAttributes: [],
    }),
  );
  const first = revisions.slice(0, 1);
  await matchRules(layer, first, pools);
  const begin = process.cpuUsage();
  for (let i = 0; i < revisions.length; i += BATCH) {
    const part = revisions.slice(i, i + BATCH);
    batch.apply(layer, part, await matchRules(layer, part, pools), 'event');
  }
  const { user, system } = process.cpuUsage(begin);
  return { cpu: (user + system) / moves.length, entered: batch.started.length };
}

/** The same positions in shapely. */
function askShapely(zones: readonly Ring[], moves: readonly Move[]): { cpu: number; pairs: number } {
  const input = JSON.stringify({
    zones,
    positions: moves.flatMap(({ from, to }) => [from, to]),
    batch: 2 * BATCH,
  });
  const { stdout, stderr } = spawnSync(pythonOfClients(), ['bench/support/fences_peer.py'], {
    input,
    maxBuffer: 1e9,
  });
  if (stderr.length > 0) throw new Error(String(stderr));
  return JSON.parse(String(stdout));
}

const all = Array.from({ length: Math.max(...SIZES) }, makeZone);
const moves = makeMoves();
const figures = SIZES.map((size) => ({
  name: `${size.toLocaleString('en')} zones`,
  rounds: {
    'CPU us of a move': [] as number[],
    'shapely STRtree, CPU us': [] as number[],
    'zones entered': [] as number[],
  },
}));
const growth: Ratio = { what: 'CPU of a move, 23,000 / 10 zones', rounds: [], most: 2 };
const further: Ratio = { what: 'CPU of a move, 100,000 / 23,000 zones', rounds: [], most: 2 };
const absolute: Ratio = { what: 'CPU microseconds of a move at 23,000 zones', rounds: [], most: 25 };
const peer: Ratio = {
  what: 'shapely (only the search) / Graticule at 23,000 zones, CPU',
  rounds: [],
};
const layers = SIZES.map((size) => makeRules(all.slice(0, size)));
for (let round = 0; round < rounds; round++) {
  const costs: number[] = [];
  for (const [i, size] of SIZES.entries()) {
    const { cpu, entered } = await evaluate(layers[i]!, moves);
    const other = askShapely(all.slice(0, size), moves);
    figures[i]!.rounds['CPU us of a move'].push(cpu);
    figures[i]!.rounds['shapely STRtree, CPU us'].push(other.cpu);
    figures[i]!.rounds['zones entered'].push(entered);
    costs.push(cpu);
    if (size === 23_000) peer.rounds.push(other.cpu / cpu);
  }
  growth.rounds.push(costs[2]! / costs[0]!);
  further.rounds.push(costs[3]! / costs[2]!);
  absolute.rounds.push(costs[2]!);
}
publish({
  bench: 'alerts',
  command: './run bench alerts',
  about: `SYNTHETIC: ${MOVES.toLocaleString('en')} moves of 1,000 points with zones of ${VERTICES} vertices, with one rule for each zone, in one thread. The work is the search for the zones of both positions, the states, and the alert events. The state database is not included.`,
  figures,
  ratios: [growth, further, absolute, peer],
  notes: ['Other work ran on the machine: CPU time counts, wall time does not.'],
});
