/** Figures that the score is computed from. */
export interface HealthFigures {
  /** Failed and slow statements, and potential leaks. */
  readonly queries: { readonly total: number; readonly failed: number; readonly slow: number };
  readonly leaks: number;
  readonly exceptions: { readonly critical: number; readonly perMinute: number };
  readonly cache: { readonly requests: number; readonly hitRatio: number };
}

/** Points that a figure takes from the score: `value * weight`, at most `limit`. */
export interface Deduction {
  readonly name: string;
  readonly description: string;
  readonly value: number;
  readonly weight: number;
  readonly limit: number;
  readonly points: number;
}

/** Requests below which the hit ratio of the cache says nothing. */
const FEW_REQUESTS = 100;
/** Hit ratio from which the cache takes no points. */
const GOOD_RATIO = 0.5;

const share = (part: number, total: number) => (total === 0 ? 0 : (100 * part) / total);

/** The score from 0 to 100, and the deductions that it consists of. The limits add up to 100. */
export function computeHealth(figures: HealthFigures): { score: number; deductions: Deduction[] } {
  const { queries, leaks, exceptions, cache } = figures;
  const missing = cache.requests < FEW_REQUESTS ? 0 : Math.max(0, GOOD_RATIO - cache.hitRatio);
  const deductions = [
    deduct('failedQueries', 'Failed statements, in percent.', share(queries.failed, queries.total), 3, 30),
    deduct('slowQueries', 'Slow statements, in percent.', share(queries.slow, queries.total), 2, 20),
    deduct('potentialLeaks', 'Potential leaks.', leaks, 2, 20),
    deduct('exceptions', 'Exceptions per minute.', exceptions.perMinute, 2, 10),
    deduct('criticalExceptions', 'Critical exceptions since the start.', exceptions.critical, 10, 10),
    deduct(
      'cacheMisses',
      `Hit ratio of the tile cache below ${GOOD_RATIO}, from ${FEW_REQUESTS} requests.`,
      missing,
      20,
      10,
    ),
  ];
  return { score: deductions.reduce((score, { points }) => score - points, 100), deductions };
}

function deduct(name: string, description: string, value: number, weight: number, limit: number): Deduction {
  return { name, description, value, weight, limit, points: Math.min(limit, value * weight) };
}
