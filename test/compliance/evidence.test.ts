import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Compliance } from '../../src/services/compliance/compliance.js';
import { reportRenderFailures } from '../../src/services/telemetry/licence-metrics.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { GOOD_FACTS, NOW, type readersOf } from './support/facts.js';

const DAY_MS = 86_400_000;

describeStates('compliance evidence', (temporary) => {
  let t: TemporaryState;
  let now: number;
  let facts: typeof GOOD_FACTS;
  let isBroken: boolean;
  beforeEach(async () => {
    t = await temporary();
    now = NOW;
    facts = GOOD_FACTS;
    isBroken = false;
  });
  afterEach(() => t.close());

  const open = () => {
    const rendered: unknown[] = [];
    const compliance = new Compliance({
      facts: Object.fromEntries(
        Object.keys(GOOD_FACTS).map((name) => [name, () => facts[name as keyof typeof facts]]),
      ) as unknown as ReturnType<typeof readersOf>,
      encryption: async () => ({
        ...{ activeKeyVersion: 1, activeKeyIssuedAt: NOW, lastRotationAt: null, retainedKeyVersions: 1 },
        ...{ algorithms: ['AES-256-GCM'], fipsMode: false, fipsSource: 'unverified' },
      }),
      residency: { enforced: false, primaryRegion: '', allowedRegions: [] },
      store: t.state.complianceEvidence,
      pools: {
        run: async (name: string) => {
          rendered.push(name);
          if (isBroken) throw new Error('no font');
          return new Uint8Array([rendered.length]);
        },
      } as never,
      version: '2026.3.0',
      now: () => now,
    });
    return { compliance, rendered };
  };

  it('is stored once a day, by the first process, with a digest of its content', async () => {
    const [{ compliance: first }, { compliance: second }] = [open(), open()];
    await first.keepEvidence();
    facts = { ...GOOD_FACTS, stateKey: false };
    await second.keepEvidence();
    await second.dashboard();
    const day = '2026-11-30';
    const rows = await t.state.complianceEvidence.list(day, day);
    expect(rows).toHaveLength(28);
    const sc12 = rows.find(({ control_id }) => control_id === 'SC-12')!;
    expect([sc12.status, sc12.collected_at]).toEqual(['Implemented', NOW]);
    for (const { digest, content_json } of rows)
      expect(digest).toBe(createHash('sha256').update(content_json).digest('hex'));
    // The next day has the loss.
    now += DAY_MS;
    await second.keepEvidence();
    const report = await first.report('2026-11-30', '2026-12-01');
    expect(
      report.days.filter(({ controlId }) => controlId === 'SC-12').map((one) => [one.day, one.status]),
    ).toEqual([
      ['2026-11-30', 'Implemented'],
      ['2026-12-01', 'PartiallyImplemented'],
    ]);
    expect((await first.report('2026-12-01', '2026-12-31')).days).toHaveLength(28);
  });

  it('ends after 400 days', async () => {
    await open().compliance.keepEvidence();
    now += 400 * DAY_MS;
    await open().compliance.keepEvidence();
    expect(await t.state.complianceEvidence.has('2026-11-30')).toBe(true);
    now += DAY_MS;
    const { compliance } = open();
    await compliance.dashboard();
    await compliance.keepEvidence();
    expect(await t.state.complianceEvidence.has('2026-11-30')).toBe(false);
  });

  it('makes reports that are rendered again only if their content changed, or after five minutes', async () => {
    const { compliance, rendered } = open();
    const render = async () =>
      (await compliance.render(await compliance.report('2026-11-30', '2026-11-30'), 'pdf', {}))[0];
    expect([await render(), await render()]).toEqual([1, 1]);
    facts = { ...GOOD_FACTS, fips: false };
    expect([await render(), await render()]).toEqual([2, 2]);
    now += 300_000;
    expect([await render(), await render()]).toEqual([3, 3]);
    expect(rendered).toEqual(['report.pdf', 'report.pdf', 'report.pdf']);
  });

  it('counts reports that cannot be rendered, and keeps none of them', async () => {
    const { compliance } = open();
    const render = async () =>
      compliance.render(await compliance.report('2026-11-30', '2026-11-30'), 'pdf', {});
    const failures = reportRenderFailures.cell('pdf');
    const before = failures.value;
    isBroken = true;
    await expect(render()).rejects.toThrow('no font');
    expect(failures.value).toBe(before + 1);
    isBroken = false;
    expect((await render())[0]).toBe(2);
  });
});
