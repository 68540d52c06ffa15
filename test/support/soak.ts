import { fileURLToPath } from 'node:url';

/** Test files that go their whole length: some (test/soak.mjs), or `all` of them (`./run soak`). */
const SOAK = process.env['GRATICULE_SOAK'] ?? '';

/** How often the test file of a URL repeats something: `whole` times in a soak, `brief` times in each other run. */
export function repetitions(file: string, whole: number, brief: number): number {
  const path = fileURLToPath(file);
  return SOAK === 'all' || SOAK.split(' ').some((name) => name && path.endsWith(name)) ? whole : brief;
}
