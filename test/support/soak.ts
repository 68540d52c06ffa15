import { fileURLToPath } from 'node:url';

/** Test files that go on for longer (test/soak.mjs), or `all` of them, their whole length (`./run soak`). */
const SOAK = process.env['GRATICULE_SOAK'] ?? '';

/** Of the whole length, what files whose code was changed go in CI: all of it took CI from 20 minutes to 47, a quarter to 29. */
const SHARE_IN_CI = 0.1;

/**
 * How often the test file of a URL repeats something: `whole` times in a soak, `brief` times in each other run, and
 * something between where the code that it tries was changed.
 */
export function repetitions(file: string, whole: number, brief: number): number {
  if (SOAK === 'all') return whole;
  const path = fileURLToPath(file);
  const isLonger = SOAK.split(' ').some((name) => name && path.endsWith(name));
  return isLonger ? Math.max(brief, Math.ceil(whole * SHARE_IN_CI)) : brief;
}
