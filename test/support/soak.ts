import { fileURLToPath } from 'node:url';

/** Test files that run in full (test/soak.mjs), or `all` of them, with all their repetitions (`./run soak`). */
const SOAK = process.env['GRATICULE_SOAK'] ?? '';

/** The share of all repetitions that a full run has in CI. With all of them CI took 47 minutes instead of 20. */
const SHARE_IN_CI = 0.1;

/**
 * True if all tests of the file with this URL run. Otherwise the run is brief: one case of each kind, and the others are
 * skipped (`it.runIf`).
 */
export function isFullRun(file: string, soak = SOAK): boolean {
  const path = fileURLToPath(file);
  return soak === 'all' || soak.split(' ').some((name) => name && path.endsWith(`/${name}`));
}

/**
 * How often a test file repeats something: `whole` times in a soak, `brief` times in a brief run, and a part of `whole` in a
 * full run.
 */
export function repetitions(file: string, whole: number, brief: number, soak = SOAK): number {
  if (soak === 'all') return whole;
  return isFullRun(file, soak) ? Math.max(brief, Math.ceil(whole * SHARE_IN_CI)) : brief;
}
