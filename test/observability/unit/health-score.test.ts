import { expect, it } from 'vitest';
import { computeHealth, type HealthFigures } from '../../../src/services/observability/health-score.js';

const HEALTHY: HealthFigures = {
  queries: { total: 1000, failed: 0, slow: 0 },
  leaks: 0,
  exceptions: { critical: 0, perMinute: 0 },
  cache: { requests: 1000, hitRatio: 0.9 },
};

it('a server without faults has 100 points', () => {
  expect(computeHealth(HEALTHY).score).toBe(100);
});

it.each<[string, Partial<HealthFigures>, number]>([
  ['failedQueries', { queries: { total: 1000, failed: 20, slow: 0 } }, 6],
  ['slowQueries', { queries: { total: 1000, failed: 0, slow: 50 } }, 10],
  ['potentialLeaks', { leaks: 3 }, 6],
  ['exceptions', { exceptions: { critical: 0, perMinute: 1.5 } }, 3],
  ['criticalExceptions', { exceptions: { critical: 1, perMinute: 0 } }, 10],
  ['cacheMisses', { cache: { requests: 100, hitRatio: 0.25 } }, 5],
])('%s takes its points', (name, figures, points) => {
  const { score, deductions } = computeHealth({ ...HEALTHY, ...figures });
  expect(score).toBeCloseTo(100 - points, 10);
  expect(deductions.filter((one) => one.points > 0).map((one) => one.name)).toEqual([name]);
});

it('can be recomputed from the deductions, and is never below 0', () => {
  const { score, deductions } = computeHealth({
    queries: { total: 1, failed: 1, slow: 1 },
    leaks: 1000,
    exceptions: { critical: 10, perMinute: 1000 },
    cache: { requests: 1000, hitRatio: 0 },
  });
  for (const { value, weight, limit, points } of deductions)
    expect(points).toBe(Math.min(limit, value * weight));
  expect(score).toBeCloseTo(100 - deductions.reduce((sum, { points }) => sum + points, 0), 10);
  expect(score).toBe(0);
});

it('a few requests say nothing about the cache', () => {
  expect(computeHealth({ ...HEALTHY, cache: { requests: 99, hitRatio: 0 } }).score).toBe(100);
});
