import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFindingId, type OpsRule } from '../../src/services/operate/findings/finding.js';
import { Findings } from '../../src/services/operate/findings/findings.js';
import { createDatabaseRules } from '../../src/services/operate/rules/databases.js';
import { createDeliveryRules, type ReceiverState } from '../../src/services/operate/rules/deliveries.js';
import { createJobRules } from '../../src/services/operate/rules/jobs.js';
import { createLayerRules } from '../../src/services/operate/rules/layers.js';
import { createLicenceRules } from '../../src/services/operate/rules/licences.js';
import { createRecordRules } from '../../src/services/operate/rules/records.js';
import { createServerRules, type HostFacts } from '../../src/services/operate/rules/server.js';
import { createSourceRules } from '../../src/services/operate/rules/sources.js';
import { createTileRules } from '../../src/services/operate/rules/tiles.js';
import { describeStates, type TemporaryState } from '../support/state.js';

const rule = (name: string, ...targets: string[]): OpsRule => ({
  name,
  inspect: () => ({
    findings: targets.map((targetId) => ({
      ...{
        subject: { targetId },
        severity: 'Warning' as const,
        title: name,
        explanation: '',
        evidenceRefs: [],
      },
      facts: { targetId },
    })),
  }),
});

describeStates('findings', (temporary) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());
  const evaluate = (...rules: OpsRule[]) => new Findings({ rules, store: t.state.findings }).evaluate();

  it('keep their id and first time, also on another server', async () => {
    const [first] = (await evaluate(rule('disk-low', 'host:a'))).findings;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const other = new Findings({
      rules: [rule('disk-low', 'host:a', 'host:b')],
      store: (await t.again()).findings,
    });
    const both = (await other.evaluate()).findings;
    expect(both.map(({ id }) => id).sort()).toEqual(
      [first!.id, createFindingId('disk-low', { targetId: 'host:b' })].sort(),
    );
    expect(first!.id).toMatch(/^disk-low-[0-9a-f]{16}$/);
    expect(both.find(({ id }) => id === first!.id)!.detectedAt).toBe(first!.detectedAt);
  });

  it('begin anew after they ended', async () => {
    const [first] = (await evaluate(rule('disk-low', 'host:a'))).findings;
    expect((await evaluate(rule('disk-low'))).findings).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const [second] = (await evaluate(rule('disk-low', 'host:a'))).findings;
    expect(second!.detectedAt).toBeGreaterThan(first!.detectedAt);
  });

  it('last while the evidence of their rule is incomplete, which is a finding itself', async () => {
    const [first] = (await evaluate(rule('disk-low', 'host:a'))).findings;
    const broken: OpsRule = {
      name: 'disk-low',
      inspect: () => {
        throw new Error('the disk does not respond');
      },
    };
    const silent: OpsRule = { name: 'version-skew', inspect: () => ({ findings: [], silent: ['server-2'] }) };
    const { findings, incomplete } = await evaluate(broken, silent);
    expect(incomplete).toEqual([
      { rule: 'disk-low', reason: 'the disk does not respond' },
      { rule: 'version-skew', reason: 'no report from server-2' },
    ]);
    expect(findings.map((one) => [one.rule, one.subject.targetId])).toEqual(
      expect.arrayContaining([
        ['evidence-incomplete', 'disk-low'],
        ['evidence-incomplete', 'version-skew'],
      ]),
    );
    const after = await evaluate(rule('disk-low', 'host:a'), rule('version-skew'));
    expect(after.findings).toHaveLength(1);
    expect(after.findings[0]!.detectedAt).toBe(first!.detectedAt);
  });

  it('read the facts once for calls at the same time, and again for each later call', async () => {
    let reads = 0;
    const counted: OpsRule = {
      name: 'disk-low',
      async inspect() {
        reads++;
        await new Promise((resolve) => setTimeout(resolve, 30));
        return { findings: [] };
      },
    };
    const findings = new Findings({ rules: [counted], store: t.state.findings });
    await Promise.all([findings.evaluate(), findings.evaluate(), findings.evaluate()]);
    expect(reads).toBe(1);
    await findings.evaluate();
    expect(reads).toBe(2);
  });
});

describeStates('autonomy', (temporary) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());
  const policy = { mode: 'AutoApply', max_blast_radius: 2, max_actions: 3, window_seconds: 3600 };
  const act = (n: number, blastRadius = 1) => ({ rule: 'disk-low', proposalId: `p${n}`, blastRadius });

  it('admits exactly the budget, from two servers at once', async () => {
    await t.state.autonomy.setPolicy('disk-low', 'user:a', () => policy);
    const stores = [t.state.autonomy, (await t.again()).autonomy];
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => stores[n % 2]!.admit(act(n))));
    expect(results.filter((one) => typeof one === 'object')).toHaveLength(3);
    expect(results.filter((one) => one === 'budget')).toHaveLength(47);
  });

  it('counts a proposal once, and forgets what is older than the window', async () => {
    await t.state.autonomy.setPolicy('disk-low', 'user:a', () => ({ ...policy, max_actions: 1 }));
    expect(await t.state.autonomy.admit(act(1))).toMatchObject({ rule: 'disk-low' });
    expect(await t.state.autonomy.admit(act(1))).toMatchObject({ rule: 'disk-low' });
    expect(await t.state.autonomy.admit(act(2))).toBe('budget');
    await t.run('UPDATE autonomy_actions SET at = at - 3600000');
    expect(await t.state.autonomy.admit(act(2))).toMatchObject({ rule: 'disk-low' });
  });

  it('refuses by the kill switch, the mode and the blast radius', async () => {
    expect(await t.state.autonomy.admit(act(1))).toBe('propose-only');
    await t.state.autonomy.setPolicy('disk-low', 'user:a', () => policy);
    expect(await t.state.autonomy.admit(act(1, 3))).toBe('blast-radius');
    await t.state.autonomy.setKillSwitch(true, 'user:b');
    expect(await t.state.autonomy.admit(act(1))).toBe('kill-switch');
    await t.state.autonomy.setKillSwitch(false, 'user:b');
    expect(await t.state.autonomy.admit(act(1, 2))).toMatchObject({ rule: 'disk-low', version: 1 });
  });

  it('falls back to proposing after two failed verifications in a row', async () => {
    const { autonomy } = t.state;
    await autonomy.setPolicy('disk-low', 'user:a', () => policy);
    expect(await autonomy.countVerification('disk-low', true, 2)).toBe(false);
    expect(await autonomy.countVerification('disk-low', false, 2)).toBe(false);
    expect(await autonomy.countVerification('disk-low', true, 2)).toBe(false);
    expect(await autonomy.countVerification('disk-low', true, 2)).toBe(true);
    expect(await autonomy.policy('disk-low')).toMatchObject({
      mode: 'ProposeOnly',
      version: 2,
      updated_by: 'system',
    });
    expect(await autonomy.admit(act(1))).toBe('propose-only');
    await autonomy.setPolicy('disk-low', 'user:a', () => policy);
    expect(await autonomy.countVerification('disk-low', true, 2)).toBe(false);
  });
});

describe('rules', () => {
  const inspect = async (rules: readonly OpsRule[], name: string) =>
    rules.find((one) => one.name === name)!.inspect();

  it('find a receiver that fails, and send dead letters again only once it works', async () => {
    const receiver: ReceiverState = {
      ...{
        name: 'alert channel slack',
        channel: 'slack',
        webhook: undefined,
        failures: 1,
        pending: 4,
        dead: 0,
        isPaused: false,
      },
    };
    const of = (change: Partial<ReceiverState>) =>
      createDeliveryRules({ receivers: async () => [{ ...receiver, ...change }] });
    expect((await inspect(of({}), 'receiver-failing')).findings).toEqual([]);
    const [failing] = (await inspect(of({ failures: 2 }), 'receiver-failing')).findings;
    expect(failing).toMatchObject({
      subject: { channel: 'slack' },
      action: { actuator: 'alert.channel.pause', parameters: { channel: 'slack' } },
    });
    expect((await inspect(of({ failures: 2, isPaused: true }), 'receiver-failing')).findings).toEqual([]);
    const [webhook] = (
      await inspect(of({ failures: 5, channel: undefined, name: 'webhook erp' }), 'receiver-failing')
    ).findings;
    expect(webhook!.action).toBeUndefined();
    expect(
      (await inspect(of({ dead: 700, failures: 2 }), 'dead-letters')).findings[0]!.action,
    ).toBeUndefined();
    expect((await inspect(of({ dead: 700, failures: 0 }), 'dead-letters')).findings[0]!.action).toMatchObject(
      {
        actuator: 'alert.channel.redrive',
        parameters: { receiver: 'slack', maxCount: 500 },
        blastRadius: 500,
      },
    );
  });

  it('find hosts with little disk, an ending certificate and a wrong clock, once for all processes of a host', async () => {
    const GIB = 2 ** 30;
    const host: HostFacts = {
      host: 'a',
      checks: [
        { name: 'tls-certificate', status: 'Degraded', description: 'It ends.' },
        { name: 'clock', status: 'Healthy', description: '' },
      ],
      disk: { path: '/data', free: 4 * GIB, total: 100 * GIB },
    };
    const rules = (answers: HostFacts[], missing: string[] = []) =>
      createServerRules({
        instances: async () => [],
        migrationSteps: async () => ({ pending: [], later: [] }),
        hosts: async () => ({ answers, missing }),
        verifyAudit: async () => ({}),
      });
    expect((await inspect(rules([host, host]), 'disk-low')).findings).toHaveLength(1);
    expect((await inspect(rules([host, host]), 'certificate-expiring')).findings).toMatchObject([
      { severity: 'Warning', subject: { targetId: 'host:a' } },
    ]);
    expect((await inspect(rules([host]), 'clock-skewed')).findings).toEqual([]);
    const roomy = { ...host, disk: { ...host.disk, free: 6 * GIB } };
    expect((await inspect(rules([roomy]), 'disk-low')).findings).toEqual([]);
    expect(await inspect(rules([roomy], ['b']), 'disk-low')).toEqual({ findings: [], silent: ['b'] });
  });

  it('name the releases that few processes run', async () => {
    const process = (name: string, release: string) => ({ name, host: 'a', release });
    const rules = (instances: ReturnType<typeof process>[], later: string[] = []) =>
      createServerRules({
        instances: async () => instances,
        migrationSteps: async () => ({ pending: [], later }),
        hosts: async () => ({ answers: [], missing: [] }),
        verifyAudit: async () => ({ broken: { id: 7, reason: 'a row is missing' } }),
      });
    const skewed = rules(
      [process('1', '2026.1.0'), process('2', '2026.1.0'), process('3', '2026.0.9')],
      ['9999'],
    );
    expect((await inspect(skewed, 'version-skew')).findings).toMatchObject([
      { subject: { releaseVersion: '2026.0.9' }, evidenceRefs: ['instance:3'] },
    ]);
    expect((await inspect(rules([process('1', '2026.1.0')]), 'version-skew')).findings).toEqual([]);
    expect((await inspect(skewed, 'migration-pending')).findings).toMatchObject([
      { subject: { targetId: 'migration:9999' } },
    ]);
    expect((await inspect(skewed, 'audit-chain-broken')).findings).toMatchObject([
      { severity: 'Critical', facts: { firstBrokenAuditId: 7 } },
    ]);
  });

  it('find tiles that are mostly rendered, and propose the zooms that were', async () => {
    const use = { layerId: 3, set: 'WebMercatorQuad', format: 'png', hits: 10, made: 40, madeMs: 4000 };
    const madeByZoom = [0, 0, 5, 35];
    const rules = (...answers: (typeof use)[]) =>
      createTileRules({
        catalog: () => ({ collections: [{ id: 'roads', layerId: 3 }] }) as never,
        tileUses: async () => ({ answers: answers.map((one) => [{ ...one, madeByZoom }]), missing: [] }),
      });
    expect((await inspect(rules(use), 'tile-cache-cold')).findings).toEqual([]);
    const [cold] = (await inspect(rules(use, use), 'tile-cache-cold')).findings;
    expect(cold).toMatchObject({
      subject: { targetId: 'collection:roads', protocol: 'tiles/WebMercatorQuad/png' },
      action: { parameters: { collection: 'roads', minZoom: 2, maxZoom: 3, format: 'png' } },
    });
    expect((await inspect(rules({ ...use, hits: 90 }, use), 'tile-cache-cold')).findings).toEqual([]);
    expect(
      (await inspect(rules({ ...use, madeMs: 100 }, { ...use, madeMs: 100 }), 'tile-cache-cold')).findings,
    ).toEqual([]);
  });

  it('find jobs that no server continues, closed layers and refused sources', async () => {
    const job = { id: 'j', kind: 'import', folder: null, attempt: 1, maxAttempts: 3 };
    expect(
      (await inspect(createJobRules({ stuckJobs: async () => [job] }), 'job-stuck')).findings,
    ).toMatchObject([{ subject: { operationId: 'j' }, action: { isAutoSafe: false } }]);
    const raster = (id: string, side: number, overviewCount: number) => ({
      ...{
        id,
        kind: 'raster',
        file: `/data/${id}.tif`,
        raster: { width: side, height: side, overviewCount },
      },
    });
    const catalog = () =>
      ({ collections: [raster('dem', 5000, 0), raster('cog', 5000, 3), raster('small', 4000, 0)] }) as never;
    const closed = ['b', 'a'].map((message) => ({ collection: 'roads', message }));
    expect(
      (await inspect(createLayerRules({ closedLayers: () => closed, catalog }), 'layer-closed')).findings,
    ).toMatchObject([{ facts: { messages: ['a', 'b'] }, severity: 'Critical' }]);
    const layers = createLayerRules({ closedLayers: () => [], catalog });
    expect((await inspect(layers, 'raster-overviews-missing')).findings).toMatchObject([
      { subject: { targetId: 'collection:dem' }, facts: { width: 5000 } },
    ]);
    const source = (state: string) => ({
      ...{ id: state, source: `/data/${state}.gpkg`, layer: undefined, folder: '/data', state },
      ...{ collections: [], reason: 'It is cut.', remedy: undefined, assumedCrs: undefined, seenSince: 1 },
    });
    const rules = createSourceRules({ sources: () => [source('published'), source('refused')] as never });
    expect((await inspect(rules, 'source-quarantined')).findings).toMatchObject([
      { subject: { targetId: 'source:refused' }, action: { actuator: 'source.reload', afterMs: 60_000 } },
    ]);
  });

  it('give advice about large tables only, and name a database that does not respond', async () => {
    const statistics = {
      ...{ isTable: true, hasSpatialIndex: false, rows: 5000, bytes: 1, analysedRows: 5000, analysedAt: 1 },
      ...{ changesSinceAnalysis: 0, sequentialScans: 1, rowsReadBySequentialScans: 1, writes: 1 },
    };
    const source = {
      ...{ kind: 'postgis', database: 'postgresql://a:secret@db/gis', schema: 'public', table: 'my"roads' },
      geometryColumn: 'geom',
    };
    const of = (answer: () => unknown) =>
      createDatabaseRules({
        catalog: () => ({ collections: [{ id: 'roads', kind: 'vector', source }] }) as never,
        pools: { run: async () => answer() } as never,
      });
    const advice = async (change: object, name: string) =>
      (
        await inspect(
          of(() => [{ ...statistics, ...change }]),
          name,
        )
      ).findings;
    const [missing] = await advice({}, 'spatial-index-missing');
    expect(missing!.explanation).toContain(
      'CREATE INDEX CONCURRENTLY ON "public"."my""roads" USING gist ("geom")',
    );
    expect(JSON.stringify(missing)).not.toContain('secret');
    expect(missing!.action).toBeUndefined();
    for (const change of [{ rows: 100 }, { hasSpatialIndex: true }, { isTable: false }])
      expect(await advice(change, 'spatial-index-missing')).toEqual([]);
    expect(await advice({}, 'statistics-stale')).toEqual([]);
    expect(await advice({ changesSinceAnalysis: 1000 }, 'statistics-stale')).toHaveLength(1);
    expect(await advice({ analysedRows: null, analysedAt: null }, 'statistics-stale')).toHaveLength(1);
    const silent = of(() => {
      throw new Error('down');
    });
    expect(await inspect(silent, 'spatial-index-missing')).toEqual({
      findings: [],
      silent: ['postgresql://a@db/gis'],
    });
  });

  it('find the client of most failures, repeated slow statements, leaks and used-up connections', async () => {
    const now = Date.now();
    const failure = (actor: string, at = now) => ({
      actor,
      remoteIp: '10.0.0.1',
      statusCode: 429,
      path: '/a',
      at,
    });
    const failures = [
      ...Array.from({ length: 20 }, () => failure('key')),
      failure('other'),
      failure('old', 1),
    ];
    const slow = Array.from({ length: 10 }, (_, ms) => ({ at: now, ms, text: 'SELECT $1' }));
    const leak = { kind: 'gdal-dataset', instance: 'a', label: 'dem.tif' };
    const rules = (change: { failures?: unknown[]; slow?: unknown[]; active?: number; leaks?: unknown[] }) =>
      createRecordRules({
        observer: { failures: async () => ({ items: change.failures ?? [], missing: [] }) as never },
        reports: {
          statements: async () => ({ slow: change.slow ?? [], missing: [] }) as never,
          resources: async () => ({ leaks: change.leaks ?? [], missing: ['b'] }) as never,
        },
        connections: async () => ({
          answers: [
            { active: change.active ?? 0, capacity: 10 },
            { active: 10, capacity: 10 },
          ],
          missing: [],
        }),
      });
    expect((await inspect(rules({ failures }), 'client-failing')).findings).toMatchObject([
      { subject: { targetId: 'client:key at 10.0.0.1' }, facts: { statuses: [429] } },
    ]);
    expect((await inspect(rules({ failures: failures.slice(1) }), 'client-failing')).findings).toEqual([]);
    expect((await inspect(rules({ slow }), 'statement-slow')).findings).toHaveLength(1);
    expect((await inspect(rules({ slow: slow.slice(1) }), 'statement-slow')).findings).toEqual([]);
    expect(await inspect(rules({ leaks: [leak, leak] }), 'resource-leaking')).toMatchObject({
      findings: [{ subject: { targetId: 'resource:gdal-dataset' } }],
      silent: ['b'],
    });
    expect((await inspect(rules({ active: 5 }), 'connections-exhausted')).findings).toHaveLength(1);
    expect((await inspect(rules({ active: 4 }), 'connections-exhausted')).findings).toEqual([]);
  });

  it('find a licence that ends, and servers beyond its capacity, only where licences are used', async () => {
    const status = { isValid: true, expiryWarning: true, daysUntilExpiry: 12, validationState: 'Valid' };
    const report = {
      warning80Percent: true,
      warning100Percent: false,
      p95Units: 7,
      ceiling: 8,
      messages: [],
    };
    const rules = (enabled: boolean, change: object = {}, use: object = {}) =>
      createLicenceRules({
        licences: { enabled, readStatus: async () => ({ ...status, ...change }) as never },
        capacity: { report: async () => ({ ...report, ...use }) as never },
      });
    for (const name of ['licence-expiring', 'capacity-band'])
      expect((await inspect(rules(false), name)).findings).toEqual([]);
    expect((await inspect(rules(true), 'licence-expiring')).findings).toMatchObject([
      { severity: 'Warning', title: 'The licence ends in 12 days' },
    ]);
    expect((await inspect(rules(true, { isValid: false }), 'licence-expiring')).findings).toMatchObject([
      { severity: 'Critical' },
    ]);
    expect((await inspect(rules(true, { expiryWarning: false }), 'licence-expiring')).findings).toEqual([]);
    expect((await inspect(rules(true), 'capacity-band')).findings).toMatchObject([{ severity: 'Info' }]);
    expect(
      (await inspect(rules(true, {}, { warning100Percent: true }), 'capacity-band')).findings,
    ).toMatchObject([{ severity: 'Warning' }]);
    expect((await inspect(rules(true, {}, { warning80Percent: false }), 'capacity-band')).findings).toEqual(
      [],
    );
  });
});
