import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { type EditableStore, geoPackageStore } from '../edits/support.js';
import { randomNumbers } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';
import { repetitions } from '../support/soak.js';

/** The test of a draft says what its creation then does, and changes nothing. */

const DRAFTS = repetitions(import.meta.url, 500, 60);
const SEED = 52;
const random = randomNumbers(SEED);
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
const TABLES = [
  'alert_zones',
  'alert_rules',
  'alert_revisions',
  'alert_states',
  'alert_events',
  'deliveries',
  'audit',
];

let store: EditableStore;
let server: TestServer;
let layers: Record<string, number>;
let zoneId: number;

beforeAll(async () => {
  store = geoPackageStore();
  server = await startServer({ sources: store.sources });
  layers = await layerNumbers(server);
  const wkt = 'POLYGON ((7 46, 8 46, 8 47, 7 47, 7 46))';
  zoneId = (await post('/alerts/zones', { zoneName: 'yard', serviceId: 'default', wkt })).data.zoneId;
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await store?.release();
});

async function post(path: string, body: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method: 'POST',
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
  const document = (await response.json()) as any;
  return { status: response.status, data: document.data, detail: document.detail as string | undefined };
}

function dump(): string {
  const db = new Database(join(server.dataDir, 'state.db'), { readonly: true });
  try {
    return JSON.stringify(TABLES.map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all()));
  } finally {
    db.close();
  }
}

const CONDITIONS = [
  ...['{}', '{"relation":"within"}', '{"path":true}', '{"exitBuffer":50}', '{"settleSeconds":2}'],
  ...['{"timeField":"seen"}', '{"timeField":"none"}', '{"filter":"name = \'a\'"}', '{"filter":"none = 1"}'],
  ...['{"notifyEnd":true}', '{"dwellSeconds":5}', '{"dwellSeconds":-1}', '[]', '{', '{"unknown":1}'],
  ...['{"field":"name","operator":"=","value":"a"}', '{"field":"floors","operator":">","value":3}'],
  ...[
    '{"field":"floors","operator":"between","value":[1,2]}',
    '{"field":"floors","operator":"in","value":[]}',
  ],
  ...['{"field":"name","operator":"changed"}', '{"field":"none","operator":"changed"}'],
  '{"field":"floors","operator":">","value":3,"clear":{"operator":"<","value":1}}',
];

const makeDraft = () => {
  const triggerType = pick(['enter', 'exit', 'dwell', 'threshold', 'threshold']);
  const hasZone = random() < (triggerType === 'threshold' ? 0.1 : 0.9);
  return {
    ruleName: pick(['a', 'watch the yard']),
    serviceId: random() < 0.9 ? 'default' : 'other',
    layerId: random() < 0.9 ? pick([layers['spots'], layers['parcels'], layers['parcels']]) : 4711,
    triggerType,
    ...(hasZone ? { zoneId: random() < 0.9 ? zoneId : 4711 } : {}),
    ...(random() < 0.8 ? { conditionsJson: pick(CONDITIONS) } : {}),
    ...(random() < 0.3 ? { cooldownSeconds: pick([0, 60]) } : {}),
    ...(random() < 0.3 ? { severity: pick(['info', 'critical']) } : {}),
    ...(random() < 0.5 ? { channels: [pick(['webhook', 'slack', 'websocket'])] } : {}),
  };
};

it(`agree for ${DRAFTS} random drafts (seed ${SEED})`, { timeout: 300_000 }, async () => {
  const drafts = Array.from({ length: DRAFTS }, makeDraft);
  const before = dump();
  const verdicts: boolean[] = [];
  for (const rule of drafts) {
    const { status, data } = await post('/alerts/rules/test', { rule });
    expect([rule, status]).toEqual([rule, 200]);
    expect(data.errors.length > 0).toBe(!data.isValid);
    verdicts.push(data.isValid);
  }
  expect(dump()).toBe(before);
  for (const [i, rule] of drafts.entries()) {
    const { status, detail } = await post('/alerts/rules', rule);
    expect([rule, status, detail]).toEqual([
      rule,
      verdicts[i] ? 200 : 400,
      status === 200 ? undefined : detail,
    ]);
  }
  const valid = verdicts.filter((isValid) => isValid).length;
  expect(Math.min(valid, DRAFTS - valid)).toBeGreaterThan(DRAFTS / 12);
});
