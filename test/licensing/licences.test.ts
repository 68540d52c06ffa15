import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Capacity } from '../../src/services/licensing/capacity.js';
import { Licences } from '../../src/services/licensing/licences.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { LicenceIssuer, licence } from './support/licence-files.js';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 5, 1);

describeStates('licences', (temporary) => {
  let t: TemporaryState;
  let issuer: LicenceIssuer;
  let now: number;
  const lines: [string, unknown][] = [];
  beforeAll(() => {
    issuer = new LicenceIssuer();
  });
  afterAll(() => issuer.remove());
  beforeEach(async () => {
    t = await temporary();
    now = START;
    lines.length = 0;
  });
  afterEach(() => t.close());

  async function open(settings: { file?: string; enabled?: boolean; keys?: string } = {}) {
    const clock = { now: () => now, set: async () => {} };
    const store = Object.assign(Object.create(t.state.licences), {
      // The clock of the state is that of the test.
      advanceTime: async () => {
        highest = Math.max(highest, now);
        return highest;
      },
    });
    const licences = new Licences({
      config: { enabled: true, keys: issuer.keys(), file: '', ...settings },
      store,
      announcements: { on() {} },
      settle: async () => {},
      clock,
      log: { write: (event: string, properties: unknown) => void lines.push([event, properties]) },
    } as unknown as ConstructorParameters<typeof Licences>[0]);
    await licences.start();
    return licences;
  }
  let highest = 0;
  beforeEach(() => {
    highest = 0;
  });
  const upload = (licences: Licences, text: string) => licences.upload(Buffer.from(text), 'user:me');

  it('have seven states', async () => {
    const states: string[] = [];
    const note = async (settings: Parameters<typeof open>[0]) =>
      states.push((await open(settings)).status().validationState);
    const file = issuer.write('licence.jws', issuer.issue(licence({}, START)));
    const other = new LicenceIssuer('other');
    await note({});
    await note({ file });
    await note({ file: `${file}.none` });
    await note({ file: issuer.write('text', 'a licence') });
    await note({ file: issuer.write('unknown', other.issue(licence({}, START))) });
    await note({ file: issuer.write('forged', other.issue(licence({}, START), { kid: issuer.kid })) });
    await note({
      file: issuer.write('old', issuer.issue(licence({ expiresAt: new Date(START).toISOString() }, START))),
    });
    expect(states).toEqual([
      ...['NoLicenseConfigured', 'Valid', 'MissingFile', 'Malformed', 'UnknownKey', 'InvalidSignature'],
      'Expired',
    ]);
    other.remove();
  });

  it('are replaced only by valid ones, in all processes', async () => {
    const [first, second] = [await open(), await open()];
    expect((await upload(first, issuer.issue(licence({}, START)))).isValid).toBe(true);
    const good = issuer.issue(licence({}, START));
    const expired = issuer.issue(licence({ expiresAt: new Date(START - 1).toISOString() }, START - DAY_MS));
    for (const [text, state] of [
      ['x', 'Malformed'],
      [`${good.slice(0, -4)}AAAA`, 'InvalidSignature'],
      [expired, 'Expired'],
    ] as const)
      expect(await upload(second, text)).toMatchObject({ isValid: false, validationState: state });
    await second.load();
    for (const one of [first, second])
      expect(one.status()).toMatchObject({ validationState: 'Valid', edition: 'pro', daysUntilExpiry: 365 });
    await upload(second, issuer.issue(licence({ licenseId: 'L-2', entitlements: [] }, START)));
    await first.load();
    expect([first.valid?.licenseId, first.entitlements]).toEqual(['L-2', []]);
  });

  it('of the state come before the file, and survive its loss', async () => {
    const file = issuer.write('file.jws', issuer.issue(licence({ licenseId: 'file' }, START)));
    const licences = await open({ file });
    expect(licences.valid?.licenseId).toBe('file');
    await rm(file);
    await licences.look();
    expect(licences.status()).toMatchObject({ validationState: 'MissingFile', isValid: false });
    await upload(licences, issuer.issue(licence({ licenseId: 'uploaded' }, START)));
    await licences.look();
    expect(licences.valid?.licenseId).toBe('uploaded');
  });

  it('expire while the server runs, and stay expired when the clock is turned back', async () => {
    const licences = await open();
    await upload(
      licences,
      issuer.issue(licence({ expiresAt: new Date(START + DAY_MS).toISOString() }, START)),
    );
    now = START + DAY_MS - 1;
    expect(licences.status()).toMatchObject({
      validationState: 'Valid',
      expiryWarning: true,
      daysUntilExpiry: 0,
    });
    expect(licences.entitlements).toEqual(['spatial-analytics']);
    now += 1;
    expect(licences.status()).toMatchObject({
      validationState: 'Expired',
      edition: 'community',
      isValid: false,
    });
    expect(licences.entitlements).toEqual([]);
    await licences.look();
    now -= 365 * DAY_MS;
    await licences.look();
    expect(licences.status().validationState).toBe('Expired');
    // Another process, which starts with the earlier time.
    expect((await open()).status().validationState).toBe('Expired');
  });

  it('warn in the log once a day before their end', async () => {
    const licences = await open();
    await upload(
      licences,
      issuer.issue(licence({ expiresAt: new Date(START + 40 * DAY_MS).toISOString() }, START)),
    );
    const warned = () => lines.filter(([event]) => event === 'licence.expiring').length;
    expect(warned()).toBe(0);
    now = START + 11 * DAY_MS;
    await licences.look();
    await licences.look();
    expect(warned()).toBe(1);
    now += DAY_MS;
    await licences.look();
    expect(warned()).toBe(2);
  });

  it('do not accept a file of keys with a private key, or with two keys of one id', async () => {
    for (const keys of [
      { keys: [{ ...issuer.jwk, d: 'AAAA' }] },
      { keys: [issuer.jwk, issuer.jwk] },
      { keys: [{ ...issuer.jwk, kid: undefined }] },
      { keys: [{ kty: 'RSA', kid: 'a', n: 'AQAB', e: 'AQAB' }] },
      [],
    ]) {
      lines.length = 0;
      const path = issuer.write('bad-keys.json', JSON.stringify(keys));
      const file = issuer.write('licence.jws', issuer.issue(licence({}, START)));
      expect((await open({ keys: path, file })).status().validationState).toBe('UnknownKey');
      expect(lines[0]).toEqual(['licence.keys.failed', expect.anything()]);
    }
  });

  it('remember the highest time of the state', async () => {
    const first = await t.state.licences.advanceTime();
    await t.run(`UPDATE licence_marks SET value = ${first + 10 * DAY_MS} WHERE name = 'highest-time'`);
    expect(await t.state.licences.advanceTime()).toBe(first + 10 * DAY_MS);
    expect(await (await t.again()).licences.advanceTime()).toBe(first + 10 * DAY_MS);
  });

  it('have capacity in eight states, which the heartbeats of servers drive', async () => {
    const licences = await open();
    const capacityOf = (role: 'production' | 'test') =>
      new Capacity({
        ...{ licences, store: t.state.capacity, instances: t.state.instances, role, localUnits: 2 },
        ...{ topology: 'virtual-machine', hasRedis: false, log: { write() {} } },
      } as ConstructorParameters<typeof Capacity>[0]);
    const capacity = capacityOf('production');
    const beat = (i: number, deploymentRole = 'production') =>
      t.state.instances.beat({
        ...{ name: `elsewhere:${i}:x`, server: `elsewhere:${i}`, host: 'h', release: '1', applied: 0 },
        ...{ servingUnits: 1, deploymentRole },
      });
    const states: string[] = [];
    const note = async (of = capacity) => {
      const report = await of.report();
      states.push(`${report.state} ${report.currentUnits} ${report.p95Units}`);
      return report;
    };
    /** Minutes with the present servers, without waiting for them. */
    const minutes = async (count: number) => {
      for (let i = 0; i < count; i++) {
        now += 60_000;
        await capacity.meter();
      }
    };
    await beat(1);
    await note();
    const terms = {
      maxSustainedServingUnits: 4,
      burstMultiplier: 1.5,
      gracePeriodDays: 2,
      annualSurgeDays: 1,
    };
    await upload(licences, issuer.issue(licence({ terms }, START)));
    await beat(9, 'test');
    await note();
    await note(capacityOf('test'));
    await minutes(40);
    for (const i of [2, 3, 4]) await beat(i);
    await note();
    await beat(5);
    await note();
    await minutes(10);
    const grace = await note();
    expect(grace).toMatchObject({
      productionCount: 5,
      excludedCount: 1,
      ceiling: 6,
      warning100Percent: true,
    });
    expect(grace.graceExpiresAt).toBe(grace.graceStartedAt! + 2 * DAY_MS);
    now += 2 * DAY_MS;
    await note();
    expect(await capacity.setSurge(true, 'user:me', 'a fair')).toBeUndefined();
    // A repeated start changes nothing.
    expect(await capacity.setSurge(true, 'user:me', 'another fair')).toBeUndefined();
    expect(await t.state.capacity.surges(0)).toHaveLength(1);
    expect((await note()).surge).toMatchObject({
      isActive: true,
      reason: 'a fair',
      usedDays: 0,
      remainingDays: 1,
    });
    now += 0.75 * DAY_MS;
    expect((await note()).surge).toMatchObject({ isActive: true, usedDays: 0.75, remainingDays: 0.25 });
    now += 0.5 * DAY_MS;
    // The allowance is used up, and the present use counts again.
    expect((await note()).surge).toMatchObject({ isActive: false, remainingDays: 0 });
    expect(await capacity.setSurge(false, 'user:me', null)).toBeUndefined();
    expect(await capacity.setSurge(true, 'user:me', null)).toMatch(/1 days/);
    // A dead server does not count.
    await t.run(`UPDATE instances SET heartbeat_at = heartbeat_at - 60000 WHERE name <> 'elsewhere:1:x'`);
    expect((await capacity.report()).currentUnits).toBe(1);
    expect(states).toEqual([
      'NotConfigured 1 1',
      'Normal 1 1',
      'Excluded 1 1',
      'ApproachingBand 4 1',
      'Burst 5 1',
      'Grace 5 5',
      'GraceExpired 5 5',
      'Surge 5 5',
      'Surge 5 5',
      'Grace 5 5',
    ]);
  });

  it('report minutes that were not measured', async () => {
    const licences = await open();
    const capacity = new Capacity({
      ...{
        licences,
        store: t.state.capacity,
        instances: t.state.instances,
        role: 'production',
        localUnits: 2,
      },
      ...{ topology: 'virtual-machine', hasRedis: false, log: { write() {} } },
    } as ConstructorParameters<typeof Capacity>[0]);
    for (let i = 0; i < 100; i++) {
      now += 60_000;
      await capacity.meter();
      await capacity.meter();
    }
    expect(await capacity.report()).toMatchObject({ meteringGap: false });
    now += 30 * 60_000;
    const { meteringGap, messages } = await capacity.report();
    expect(meteringGap).toBe(true);
    expect(messages.join()).toMatch(/29 of 129 minutes/);
    // Processes measure one minute at different moments; the highest value remains.
    const minute = START + 5 * 60_000;
    for (const units of [3, 1]) await t.state.capacity.meter(minute, units);
    expect((await t.state.capacity.minutes(0)).counts).toContainEqual({ units: 3, minutes: 1 });
    now += 31 * DAY_MS;
    await capacity.meter();
    expect(await t.state.capacity.minutes(0)).toMatchObject({ counts: [{ minutes: 1 }] });
  });
});
