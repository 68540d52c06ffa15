import { createHash, createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import yauzl from 'yauzl';
import { scratchDirectory } from '../../engine/support.js';
import { startServer, type TestServer } from '../../support/server.js';
import { isFullRun } from '../../support/soak.js';
import { call, type Json } from '../remote/support.js';
import type { GeoServerServices } from './geoserver-services.js';
import {
  endedMigration,
  type Layer,
  layersOf,
  type MigrationSource,
  migrationEnv,
  startMigration,
  startSource,
} from './migration-source.js';

/**
 * Migrations of a GeoServer compare what came with what was there, and say so in evidence that can be checked. A brief run
 * has one migration of each verdict.
 */

const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
/** The first of several cases in a brief run. */
const some = <T>(cases: T[]): T[] => (IS_FULL ? cases : cases.slice(0, 1));

const scratch = scratchDirectory();
const KEY = 'key of the tests';
let server: TestServer;
let origin: MigrationSource;
let services: GeoServerServices;
let names = 0;

beforeAll(async () => {
  origin = await startSource(scratch.path);
  ({ services } = origin);
  server = await startServer({ sources: [], env: { ...migrationEnv, SVC_RELEASES__KEY: KEY } });
}, 480_000);

afterEach(() => {
  services.behaviour = undefined;
  services.sample = undefined;
  services.offersJson = true;
});

afterAll(async () => {
  await server?.stop();
  await origin?.close();
  scratch.remove();
});

/** A migration into collections of new names. */
async function migrated(body: object = {}): Promise<Json> {
  const importOptions = { workspaceNameMappings: { topp: `m${++names}` } };
  const { body: queued } = await startMigration(server, origin.source, {
    importStyles: true,
    importOptions,
    ...body,
  });
  const job = await endedMigration(server, queued['jobId']);
  expect(job).toMatchObject({ status: 'Completed' });
  return job;
}

interface Probe extends Json {
  probe: string;
  verdict: string;
  facts: Json;
}
const probesOf = (layer: Layer | undefined) => (layer!['parity'] as { probes: Probe[] }).probes;
const verdicts = (layer: Layer | undefined) =>
  Object.fromEntries(probesOf(layer).map(({ probe, verdict }) => [probe, verdict]));
const probeOf = (layer: Layer | undefined, name: string) =>
  probesOf(layer).find(({ probe }) => probe === name)!;

const COUNTRIES = { layerNames: ['topp:countries'] };

async function evidenceOf(job: Json, apiKey = server.adminKey): Promise<Response> {
  const { href } = job['evidencePack'] as { href: string };
  return fetch(server.url + href, { headers: { 'x-api-key': apiKey } });
}

async function unpacked(bytes: Uint8Array): Promise<Map<string, Buffer>> {
  const path = join(scratch.path, `evidence-${names}.zip`);
  writeFileSync(path, bytes);
  const archive = await yauzl.openPromise(path, { autoClose: false, lazyEntries: true });
  const files = new Map<string, Buffer>();
  for await (const entry of archive.eachEntry()) {
    const parts: Buffer[] = [];
    for await (const part of await archive.openReadStreamPromise(entry)) parts.push(part as Buffer);
    files.set(entry.fileName, Buffer.concat(parts));
  }
  archive.close();
  return files;
}

const digest = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

describe('parity of a migrated GeoServer', { timeout: 600_000 }, () => {
  it('passes where all of it came, in the CRS that it had and in another one', async () => {
    for (const more of some([{}, { targetSrid: 3395 }])) {
      const job = await migrated(more);
      const [countries, heights, plane] = layersOf(job);
      expect(verdicts(countries)).toEqual({
        count: 'pass',
        features: 'pass',
        extent: 'pass',
        drawing: 'pass',
      });
      expect(verdicts(plane)).toEqual({
        count: 'pass',
        features: 'pass',
        extent: 'pass',
        drawing: 'skipped',
      });
      expect(verdicts(heights)).toEqual({ bands: 'pass', extent: 'skipped', drawing: 'skipped' });
      expect(probeOf(plane, 'features').facts).toMatchObject({ compared: 24, missing: [], differences: [] });
      const { sourceInk, targetInk } = probeOf(countries, 'drawing').facts;
      expect([Number(sourceInk) > 0.1, Number(targetInk) > 0.1]).toEqual([true, true]);
      expect(job['scorecard']).toEqual({ verdict: 'pass', passCount: 3, warnCount: 0, failCount: 0 });
    }
  });

  full('compares what comes as GML too', async () => {
    services.offersJson = false;
    const [countries] = layersOf(await migrated(COUNTRIES));
    expect(verdicts(countries)).toMatchObject({ count: 'pass', features: 'pass' });
  });

  it('fails where a feature is another one, or is not there', async () => {
    const changes: [(feature: Json) => Json, RegExp][] = [
      [
        (one) => ({ ...one, properties: { ...(one['properties'] as Json), name: 'Elsewhere' } }),
        /name: "Elsewhere" has become/,
      ],
      [
        (one) => ({ ...one, properties: { ...(one['properties'] as Json), more: 1 } }),
        /more: 1 has become nothing/,
      ],
      [
        (one) => ({ ...one, geometry: { type: 'Point', coordinates: [0, 0] } }),
        /geometry: Point has become Polygon/,
      ],
      [(one) => ({ ...one, id: `${one['id']}0000` }), /3 of 24 features are not there/],
    ];
    for (const [change, text] of some(changes)) {
      services.sample = (features) => features.map((one, i) => (i === 3 ? change(one) : one));
      const job = await migrated({ ...COUNTRIES, importStyles: false });
      const { verdict, reason, facts } = probeOf(layersOf(job)[0], 'features');
      const texts = [reason, ...(facts['differences'] as string[])].join('\n');
      expect([verdict, texts]).toEqual(['fail', expect.stringMatching(text)]);
      expect(job['scorecard']).toMatchObject({ verdict: 'fail', failCount: 1 });
    }
  });

  full('fails if the source has more features than came, and tells features apart without ids', async () => {
    let hits = 0;
    services.behaviour = (query, response) => {
      if (query.get('RESULTTYPE') !== 'hits' || hits++ === 0) return false;
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.end('<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs/2.0" numberMatched="999"/>');
      return true;
    };
    services.sample = (features) => features.map((one, i) => ({ ...one, id: `countries.fid-${i}` }));
    const [countries] = layersOf(await migrated({ ...COUNTRIES, importStyles: false }));
    expect(verdicts(countries)).toMatchObject({ count: 'fail', features: 'pass' });
    expect(probeOf(countries, 'features').facts).toMatchObject({ key: 'name', compared: 8 });
    expect(probeOf(countries, 'count').facts).toEqual({
      source: 999,
      target: services.types['topp:countries']!.features.length,
    });
  });

  full('warns where nothing tells features apart', async () => {
    services.sample = (features) => features.map((one, i) => ({ ...one, id: `fid-${i}`, properties: {} }));
    const [countries] = layersOf(await migrated({ ...COUNTRIES, importStyles: false }));
    expect(verdicts(countries)).toMatchObject({ count: 'pass', features: 'warn' });
  });

  it('warns, and does not fail, where the map is drawn otherwise or not at all', async () => {
    const answers: [string, (query: URLSearchParams) => Promise<Buffer | string>, RegExp][] = [
      ['image/png', (query) => picture(query, '#cc3300'), /differ/],
      ['image/png', (query) => picture(query, '#ffffff'), /shows nothing/],
      ['image/png', async () => picture(new URLSearchParams('WIDTH=9&HEIGHT=9'), '#ffffff'), /9 x 9/],
      ['image/png', async () => 'no picture', /cannot be read/],
      ['application/vnd.ogc.se_xml', async () => '<ServiceExceptionReport/>', /no image/],
    ];
    for (const [type, draw, text] of some(answers)) {
      services.behaviour = (query, response) => {
        if (query.get('REQUEST') !== 'GetMap') return false;
        void draw(query).then((body) => response.writeHead(200, { 'content-type': type }).end(body));
        return true;
      };
      const job = await migrated(COUNTRIES);
      const drawing = probeOf(layersOf(job)[0], 'drawing');
      expect(drawing).toMatchObject({ verdict: 'warn', reason: expect.stringMatching(text) });
      expect(job['scorecard']).toMatchObject({ verdict: 'warn', warnCount: 1 });
    }
  });

  it('leaves evidence whose digests and signature can be checked, to who asked for it', async () => {
    const job = await migrated(COUNTRIES);
    const answer = await evidenceOf(job);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip']);
    const files = await unpacked(new Uint8Array(await answer.arrayBuffer()));
    const collection = layersOf(job)[0]!.collectionId;
    const own = ['samples.json', 'source.png', 'target.png'].map((name) => `layers/${collection}/${name}`);
    expect([...files.keys()]).toEqual(['scorecard.json', ...own, 'manifest.json', 'signature.json']);
    const parsed = (name: string) => JSON.parse(files.get(name)!.toString('utf8')) as Json;
    const listed = parsed('manifest.json')['files'] as { name: string; bytes: number; sha256: string }[];
    expect(listed.map(({ name }) => name)).toEqual(['scorecard.json', ...own]);
    for (const { name, bytes, sha256 } of listed)
      expect([bytes, sha256]).toEqual([files.get(name)!.length, digest(files.get(name)!)]);
    const { digest: named, signature } = parsed('signature.json');
    expect(named).toBe(digest(files.get('manifest.json')!));
    expect(signature).toBe(`hmac-sha256:${createHmac('sha256', KEY).update(String(named)).digest('hex')}`);
    expect(job['evidencePack']).toMatchObject({ digest: named, signature });
    expect(parsed('scorecard.json')).toMatchObject({
      migrationId: job['jobId'],
      scorecard: { verdict: 'pass' },
    });
    const pictures = own.slice(1).map((name) => sharp(files.get(name)!).metadata());
    const [source, target] = await Promise.all(pictures);
    expect([source!.width, source!.height]).toEqual([target!.width, target!.height]);
    const { items } = (await call(server, 'GET', `/jobs/${job['jobId']}/artifacts`)).body as {
      items: Json[];
    };
    expect(items).toMatchObject([{ label: 'evidence.zip', kind: 'migration-evidence' }]);
    expect((await evidenceOf(job, 'wrong')).status).toBe(401);
  });
});

function picture(query: URLSearchParams, background: string): Promise<Buffer> {
  const [width, height] = [Number(query.get('WIDTH')), Number(query.get('HEIGHT'))];
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}
