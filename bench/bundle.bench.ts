import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * Whether the event loop stays free while the largest diagnostic bundle is received, validated, stored and read again.
 * The figure is the CPU time of the longest turn of the loop, scraped after each step. An idle pause is measured beside it.
 */
const rounds = option('rounds', 9);
const KEY = 'bench-bench-bench-bench';
const graticule = await startGraticule(['demo/data/world_map.gpkg'], { port: 18_391, cores: '0,1' });
const PATH = '/api/v1/admin/diagnostics/bundles';
const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };

async function longestTurn(): Promise<number> {
  const text = await (await fetch(`${graticule.origin}/metrics`, { headers })).text();
  return Number(/^svc_gateway_event_loop_longest_turn_ms (\S+)$/m.exec(text)![1]);
}

function largestBundle(): string {
  const text = (length: number) => 'lorem ipsum '.repeat(length / 12 + 1).slice(0, length);
  const list = Array.from({ length: 32 }, () => ({ name: 'x-request-id', value: text(2048) }));
  const body = {
    ...{ preview: text(8192), contentSha256: 'a'.repeat(64), originalByteSize: 26_214_400 },
    ...{ redactionApplied: true, truncated: true },
  };
  const envelope = {
    ...{ method: 'GET', normalizedPath: text(2048), statusCode: 599, mediaType: text(256) },
    ...{ correlationId: text(200), traceId: text(200), capturedAt: '2026-01-31T12:00:00Z' },
    ...{ requestHeaders: list, responseHeaders: list, requestBody: body, responseBody: body },
  };
  return JSON.stringify({
    ...{ schemaVersion: '1.0', contentClassification: 'internal' },
    consent: { redactionAcknowledged: true, shareWithSupport: true, grantedBy: text(256) },
    envelopes: Array.from({ length: 50 }, () => envelope),
  });
}

const body = largestBundle();
const figures = { idle: [] as number[], intake: [] as number[], reading: [] as number[] };
const wall: number[] = [];
for (let round = 0; round <= rounds; round++) {
  await longestTurn();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const idle = await longestTurn();
  const start = performance.now();
  const made = await fetch(graticule.origin + PATH, { method: 'POST', headers, body });
  if (made.status !== 201) throw new Error(`${made.status} ${await made.text()}`);
  const { bundleId } = (await made.json()) as { bundleId: string };
  const took = performance.now() - start;
  const intake = await longestTurn();
  await (await fetch(`${graticule.origin}${PATH}/${bundleId}`, { headers })).text();
  const reading = await longestTurn();
  await fetch(`${graticule.origin}${PATH}/${bundleId}`, { method: 'DELETE', headers });
  if (round === 0) continue;
  figures.idle.push(idle);
  figures.intake.push(intake);
  figures.reading.push(reading);
  wall.push(took);
}
await graticule.stop();

publish({
  bench: 'bundle',
  command: `./run bench bundle --rounds ${rounds}`,
  about: `Longest turn of the event loop while a diagnostic bundle of ${body.length} bytes is stored and read again.`,
  figures: Object.entries(figures).map(([name, values]) => ({ name, rounds: { 'longest turn ms': values } })),
  ratios: [{ what: 'longest turn of an intake, ms', rounds: figures.intake, most: 5 }],
  notes: [`An intake took ${Math.round(Math.min(...wall))} to ${Math.round(Math.max(...wall))} ms.`],
});
