import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CRS84, type Crs } from '../../core/geometry/crs.js';
import { parseCrs, resolveCrs } from '../../native/crs.js';
import { type ExportFormat, type ExportName, getExportFormat } from '../exchange/exports/formats.js';
import { partTask, withKey } from '../exchange/exports/plan.js';
import { writeExport } from '../exchange/exports/write.js';
import type { JobContext } from '../jobs/kinds.js';
import type { TaskContext } from '../kit/run-task.js';
import type { ProcessDefinition, ProcessWork } from './definition.js';
import type { ExecutionInput, ResultFile, RunDeps } from './execution.js';
import { PROCESSED, resolveFeatures } from './run-features.js';

type ExportWork = Extract<ProcessWork, { kind: 'export' }>;

/** Features become a file. */
export async function runExport(
  context: JobContext<ExecutionInput>,
  { title }: ProcessDefinition,
  { input, output }: ExportWork,
  folder: string,
  { pools, sources }: RunDeps,
): Promise<ResultFile> {
  const { signal } = context;
  const { values } = context.input;
  const { features, count } = await context.step('read', 'Reading the inputs', () =>
    resolveFeatures(context, input, folder, { sources }),
  );
  const { source, filter, fields: names } = features;
  const name = values['format'] as ExportName;
  const format = getExportFormat(name);
  const crs = exportCrs(format, source.crs, values['targetCrs'] as string | undefined);
  const chosen = source.fields.filter((field) => names.includes(field.name));
  const { query, fields } = withKey(format, { source, filter }, chosen);
  const task = partTask(query, { format: name === 'csv' ? 'csv' : 'geojson', crs, fields });
  const path = join(folder, `${output}.${format.ending}`);
  const plan = { task, fields, crs, format: name, collection: { id: 'features', source } };
  const onProgress = (read: number, fraction: number) =>
    context.progress(PROCESSED * Math.max(fraction, count ? Math.min(0.6, (0.6 * read) / count) : 0));
  const x: TaskContext = { signal, timing: () => {} };
  const written = await context.step('process', title, () => writeExport(x, pools, plan, path, onProgress));
  for (const note of written.notes) await context.warn(note);
  await context.log('info', `${written.features} features were written.`);
  return { path, mediaType: format.mediaType, bytes: (await stat(path)).size };
}

/** The CRS of the format, the requested one, or the CRS of the features. Throws 400 with the name of the input. */
function exportCrs({ inDegrees }: ExportFormat, stored: string, target: string | undefined): Crs {
  if (inDegrees) return CRS84;
  return (target === undefined ? parseCrs(stored) : resolveCrs('/inputs/targetCrs', target)) ?? CRS84;
}
