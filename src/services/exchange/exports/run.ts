import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../core/files/own-folder.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobContext } from '../../jobs/kinds.js';
import { runTask, type TaskContext } from '../../kit/run-task.js';
import { getExportFormat } from './formats.js';
import { createExportFileName, type ExportPlan, findExportCount } from './plan.js';
import { writeExport } from './write.js';

/** File that a job wrote. */
export interface ExportFile {
  path: string;
  name: string;
  mediaType: string;
  bytes: number;
  features: number;
}

/** Number of features of an export. */
export async function countExport(x: TaskContext, pools: Pools, plan: ExportPlan): Promise<number> {
  return findExportCount(plan) ?? (await runTask(x, pools, 'vector.count', plan.query));
}

/** Writes an export into the folder of its job. */
export async function runExportJob(
  context: Omit<JobContext, 'input'>,
  pools: Pools,
  plan: ExportPlan,
  folder: string,
): Promise<ExportFile> {
  const x: TaskContext = { signal: context.signal, timing: () => {} };
  const total = await countExport(x, pools, plan);
  // The result of an earlier run is incomplete, or was not reported.
  await rm(folder, { recursive: true, force: true });
  await makeFolder(folder, 0o700);
  const name = createExportFileName(plan);
  const path = join(folder, name);
  const progress = (read: number, fraction: number) =>
    context.progress(Math.max(fraction, Math.min(0.6, (0.6 * read) / Math.max(1, total))));
  const { features, notes } = await context.step('export', `Writing ${total} features`, () =>
    writeExport(x, pools, plan, path, progress),
  );
  for (const note of notes) await context.warn(note);
  const { mediaType } = getExportFormat(plan.format);
  const { size: bytes } = await stat(path);
  await context.artifact({
    label: name,
    kind: 'layer-export',
    content_type: mediaType,
    size_bytes: bytes,
    location: path,
  });
  return { path, name, mediaType, bytes, features };
}
