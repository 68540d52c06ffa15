import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { NetworkTasks, SnapshotRecord } from '../../src/core/networks/networks.js';
import { buildNetworkFile } from '../../src/native/networks.js';
import { OccasionalPool } from '../../src/workers/threads/one-thread.js';

const worker = (name: string) => new URL(`../../dist/workers/entries/${name}.js`, import.meta.url);
const builds = new OccasionalPool<'network.build'>({
  name: 'network-builds',
  worker: worker('network-builds'),
});
const routes = new OccasionalPool<'network.route'>({
  name: 'networks',
  worker: worker('networks'),
  threads: 2,
});
const folder = mkdtempSync(join(tmpdir(), 'networks-'));

afterAll(async () => {
  await Promise.all([builds.close(), routes.close()]);
  rmSync(folder, { recursive: true });
});

function build(name: string, records: readonly SnapshotRecord[], isGeographic = false) {
  const snapshot = join(folder, `${name}.ndjson`);
  writeFileSync(snapshot, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return builds.run('network.build', { snapshot, output: join(folder, name), isGeographic, tolerance: 0 });
}

const route = (name: string, stops: NetworkTasks['network.route']['input']['stops'], reach = 10) =>
  routes.run('network.route', { file: join(folder, name), stops, reach });

/** A square whose side from b to c is one-way. */
const SQUARE = [
  { id: 'ab', source: 'a', target: 'b', cost: 10, reverseCost: 10, points: [0, 0, 100, 0] },
  { id: 'bc', source: 'b', target: 'c', cost: 10, reverseCost: -1, points: [100, 0, 100, 100] },
  { id: 'cd', source: 'c', target: 'd', cost: 10, reverseCost: 10, points: [100, 100, 0, 100] },
  { id: 'da', source: 'd', target: 'a', cost: 10, reverseCost: 10, points: [0, 100, 0, 0] },
];

it('builds a network in one thread and finds routes over several stops in others', async () => {
  const edges = SQUARE.map((edge) => ({ edge }));
  const built = await build('square', edges);
  const bytes = buildNetworkFile(SQUARE, [], false);
  const digest = createHash('sha256').update(bytes).digest('hex');
  expect(built).toEqual({
    findings: [],
    evidenceDigest: createHash('sha256')
      .update(JSON.stringify({ findings: [], digest }))
      .digest('hex'),
    file: { digest, bytes: bytes.byteLength, edges: 4, vertices: 4 },
  });
  expect(readFileSync(join(folder, 'square'))).toEqual(bytes);
  const stops = [
    { x: 50, y: -1 },
    { x: 101, y: 50 },
    { x: 50, y: 3 },
  ];
  expect(await route('square', stops)).toEqual({
    legs: [
      {
        cost: 10,
        length: 100,
        edges: [
          { id: 'ab', isForward: true },
          { id: 'bc', isForward: true },
        ],
        points: Float64Array.of(50, 0, 100, 0, 100, 50),
      },
      {
        cost: 30,
        length: 300,
        edges: ['bc', 'cd', 'da', 'ab'].map((id) => ({ id, isForward: true })),
        points: Float64Array.of(100, 50, 100, 100, 0, 100, 0, 0, 50, 0),
      },
    ],
  });
});

it('obeys restrictions, and reports stops without an edge or a route', async () => {
  await build('restricted', [
    ...SQUARE.map((edge) => ({ edge })),
    { restriction: { kind: 'prohibited', fromEdge: 'ab', toEdge: 'bc', viaVertex: 'b' } },
  ]);
  const there = { x: 100, y: 50 };
  // At b, the route turns to come from ab again: this is the only way into bc.
  expect(await route('restricted', [{ x: 50, y: 0 }, there])).toEqual({ missing: 'route', stop: 0 });
  expect(
    await route('restricted', [
      { x: 50, y: 0 },
      { x: 50, y: 100 },
    ]),
  ).toMatchObject({ legs: [{ cost: 20 }] });
  expect(await route('restricted', [there, { x: 50, y: 50 }, there], 40)).toEqual({
    missing: 'edge',
    stop: 1,
  });
});

it('reports the errors of a topology, and leaves no file', async () => {
  const [first] = SQUARE;
  const outcome = await build('faulty', [{ edge: first! }, { edge: { ...first!, cost: 1e300 } }]);
  expect(outcome.file).toBeUndefined();
  expect(outcome.findings.filter(({ isError }) => isError)).toEqual([
    { kind: 'invalid-cost', isError: true, count: 1, ids: ['ab'] },
    { kind: 'repeated-edge', isError: true, count: 1, ids: ['ab'] },
  ]);
  expect(readdirSync(folder).filter((name) => name.startsWith('faulty'))).toEqual(['faulty.ndjson']);
});

it('finds routes while a build runs', async () => {
  await build(
    'square again',
    SQUARE.map((edge) => ({ edge })),
  );
  const snapshot = join(folder, 'pipe');
  execFileSync('mkfifo', [snapshot]);
  const output = join(folder, 'piped');
  // The build waits until the pipe has a writer.
  const building = builds.run('network.build', { snapshot, output, isGeographic: false, tolerance: 0 });
  const stops = [
    { x: 50, y: 0 },
    { x: 50, y: 100 },
  ];
  for (let i = 0; i < 20; i++) {
    expect(await route('square again', stops)).toMatchObject({ legs: [{ cost: 20, length: 200 }] });
  }
  expect(existsSync(output)).toBe(false);
  await writeFile(snapshot, SQUARE.map((edge) => JSON.stringify({ edge })).join('\n'));
  expect((await building).file).toMatchObject({ edges: 4, vertices: 4 });
  expect(readFileSync(output)).toEqual(readFileSync(join(folder, 'square again')));
});
