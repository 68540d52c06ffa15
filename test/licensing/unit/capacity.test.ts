import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  type CapacityUse,
  computeP95,
  countSurgeDays,
  findWarnings,
  judgeCapacity,
} from '../../../src/core/licensing/capacity.js';
import { sumServingUnits } from '../../../src/services/licensing/capacity.js';
import { measureServingUnits } from '../../../src/services/licensing/serving-units.js';
import { pythonOfClients } from '../../support/python.js';

const DAY_MS = 86_400_000;

describe('the 95th percentile of serving units', () => {
  it("equals numpy's on the same minutes", () => {
    let seed = 20_261_130;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const samples = Array.from({ length: 40 }, (_, i) =>
      Array.from({ length: 1 + i * 37 }, () => Math.round(random() * (i % 2 ? 8 : 10_000)) / 4),
    );
    const program =
      'import json, sys, numpy\nprint(json.dumps([float(numpy.percentile(s, 95)) for s in json.load(sys.stdin)]))';
    const expected = JSON.parse(
      execFileSync(pythonOfClients(), ['-c', program], { input: JSON.stringify(samples), encoding: 'utf8' }),
    ) as number[];
    const counted = samples.map((values) => {
      const minutes = new Map<number, number>();
      for (const value of values) minutes.set(value, (minutes.get(value) ?? 0) + 1);
      return computeP95([...minutes].map(([units, count]) => ({ units, minutes: count })));
    });
    for (const [i, value] of counted.entries()) expect(value).toBeCloseTo(expected[i]!, 9);
  });
});

describe('the state of the capacity', () => {
  const terms = { maxSustainedServingUnits: 10, burstMultiplier: 2, gracePeriodDays: 3 };
  const judge = (use: Partial<CapacityUse>) =>
    judgeCapacity({
      ...{
        terms,
        isExcluded: false,
        current: 1,
        p95: 1,
        isSurging: false,
        graceStartedAt: null,
        now: 100 * DAY_MS,
      },
      ...use,
    });

  it('is one of eight', () => {
    const started = 97 * DAY_MS;
    const cases: [Partial<CapacityUse>, string][] = [
      [{ terms: undefined, current: 99 }, 'NotConfigured'],
      [{ isExcluded: true, current: 99 }, 'Excluded'],
      [{ isSurging: true, p95: 99 }, 'Surge'],
      [{ current: 7.9, p95: 7.9 }, 'Normal'],
      [{ current: 8 }, 'ApproachingBand'],
      [{ p95: 10, current: 10 }, 'ApproachingBand'],
      [{ current: 10.1 }, 'Burst'],
      [{ current: 20 }, 'Burst'],
      [{ current: 20.1 }, 'Grace'],
      [{ p95: 10.1 }, 'Grace'],
      [{ p95: 10.1, graceStartedAt: started + 1 }, 'Grace'],
      [{ p95: 10.1, graceStartedAt: started }, 'GraceExpired'],
    ];
    for (const [use, state] of cases) expect([use, judge(use)]).toEqual([use, state]);
  });

  it('warns at 80 and at 100 percent', () => {
    const warn = (current: number) => findWarnings({ terms, current, p95: 0 });
    expect(warn(7.99)).toEqual({ warning80Percent: false, warning100Percent: false });
    expect(warn(8)).toEqual({ warning80Percent: true, warning100Percent: false });
    expect(warn(10)).toEqual({ warning80Percent: true, warning100Percent: true });
    expect(findWarnings({ terms: undefined, current: 99, p95: 99 })).toEqual({
      ...{ warning80Percent: false, warning100Percent: false },
    });
  });
});

describe('days with surge mode', () => {
  const at = (month: number, day: number, hour = 0, year = 2026) => Date.UTC(year, month - 1, day, hour);
  it('count from the start of the year to now, and once where periods overlap', () => {
    const now = at(6, 10, 12);
    const periods = [
      { startedAt: at(12, 30, 0, 2025), endedAt: at(1, 3) },
      { startedAt: at(3, 1), endedAt: at(3, 2, 12) },
      { startedAt: at(3, 2), endedAt: at(3, 2, 18) },
      { startedAt: at(6, 10), endedAt: null },
    ];
    expect(countSurgeDays(periods, now)).toBe(2 + 1.75 + 0.5);
    expect(countSurgeDays(periods, at(1, 2))).toBe(1);
    expect(countSurgeDays([], now)).toBe(0);
  });
});

describe('serving units', () => {
  it('are those of production servers, each counted once for all its processes', () => {
    const one = (server: string, servingUnits?: number, deploymentRole?: string) => ({
      ...{ name: `${server}-${Math.random()}`, server, host: 'h', release: '1', applied: 0 },
      ...(servingUnits === undefined ? {} : { servingUnits }),
      ...(deploymentRole === undefined ? {} : { deploymentRole }),
    });
    expect(
      sumServingUnits([
        ...[one('a', 4, 'production'), one('a', 4, 'production'), one('b', 0.5, 'production')],
        ...[one('c', 8, 'staging'), one('d', undefined, 'production'), one('e')],
      ]),
    ).toEqual({ units: 4.5, production: 4, excluded: 1, silent: 1 });
  });

  it('are limited by the quota of the control group and of its parents', () => {
    const host = (cpus: number, files: Record<string, string>) => ({
      cpus: () => cpus,
      read(path: string) {
        const text = files[path];
        if (text === undefined) throw new Error('ENOENT');
        return text;
      },
    });
    const group = '/sys/fs/cgroup/a/b';
    const self = { '/proc/self/cgroup': '0::/a/b\n' };
    expect(measureServingUnits(host(8, {}))).toBe(8);
    expect(measureServingUnits(host(8, { ...self, [`${group}/cpu.max`]: 'max 100000\n' }))).toBe(8);
    expect(measureServingUnits(host(8, { ...self, [`${group}/cpu.max`]: '250000 100000\n' }))).toBe(2.5);
    expect(
      measureServingUnits(
        host(8, {
          ...self,
          [`${group}/cpu.max`]: '250000 100000\n',
          '/sys/fs/cgroup/a/cpu.max': '50000 100000\n',
        }),
      ),
    ).toBe(0.5);
    expect(measureServingUnits(host(2, { ...self, [`${group}/cpu.max`]: '800000 100000\n' }))).toBe(2);
    const old = '4:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n';
    expect(
      measureServingUnits(
        host(8, {
          '/proc/self/cgroup': old,
          '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '150000\n',
          '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
        }),
      ),
    ).toBe(1.5);
  });
});
