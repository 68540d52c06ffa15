import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Names the file of the seconds that test files took when they ran last (test/run.mjs). */
export const DURATIONS = process.env['GRATICULE_TEST_DURATIONS'] ?? '';

/**
 * Files of a project begin with those that took longest in runs before, and with those that none of them had: a long file
 * that began last would leave the other core without work. Without a run before, larger files are first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = durations();
    const sorted = await super.sort(files);
    if (Object.keys(seconds).length === 0) return sorted;
    const secondsOf = ({ moduleId }: TestSpecification) =>
      seconds[relative(process.cwd(), moduleId)] ?? Number.POSITIVE_INFINITY;
    // Infinity less itself is no number.
    const byLength = (a: TestSpecification, b: TestSpecification) =>
      secondsOf(a) === secondsOf(b) ? 0 : secondsOf(b) - secondsOf(a);
    const projects = new Set(sorted.map(({ project }) => project));
    return [...projects].flatMap((project) =>
      sorted.filter((file) => file.project === project).sort(byLength),
    );
  }
}

/** What is not there or cannot be read orders nothing. */
function durations(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}
