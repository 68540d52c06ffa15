import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the folder of what test files of one run make once and copy. */
export const TEMPLATES_VARIABLE = 'GRATICULE_TEST_TEMPLATES';

/** Before the first test file of a run; the answer ends it. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-templates-'));
  process.env[TEMPLATES_VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
