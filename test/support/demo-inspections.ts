import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { INSPECTIONS_FOLDER } from '../../src/services/catalog/inspections/inspection-files.js';
import { RUN_VARIABLE } from './run.js';

/** Files of the demo, whose inspection takes a third of the start of a server. */
const DEMO = 'demo/data';

const isDemo = (source: string) => source === DEMO || source.startsWith(`${DEMO}/`);

/** Folder of the inspections of the demo by an earlier server of this run; undefined if every server inspects it. */
function findKept(): string | undefined {
  const folder = process.env['GRATICULE_FRESH_INSPECTIONS'] ? undefined : process.env[RUN_VARIABLE];
  return folder && join(folder, INSPECTIONS_FOLDER);
}

/** Has a server with a new data folder start as after a restart: with the inspections of the demo. */
export function takeDemoInspections(sources: readonly string[], dataDir: string): void {
  const kept = findKept();
  if (!kept || !sources.some(isDemo) || !existsSync(kept)) return;
  cpSync(kept, join(dataDir, INSPECTIONS_FOLDER), { recursive: true });
}

/** Keeps the inspections of the first server that has published the complete demo. Call it after the server has stopped. */
export function keepDemoInspections(sources: readonly string[], dataDir: string): void {
  const kept = findKept();
  const made = join(dataDir, INSPECTIONS_FOLDER);
  if (!kept || !sources.includes(DEMO) || existsSync(kept) || !existsSync(made)) return;
  const own = `${kept}-${process.pid}`;
  cpSync(made, own, { recursive: true });
  try {
    renameSync(own, kept);
  } catch {
    // Another test process was faster.
    rmSync(own, { recursive: true });
  }
}
