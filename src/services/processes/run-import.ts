import { rm } from 'node:fs/promises';
import { LIMITS } from '../../core/kit/limits.js';
import type { ImportInput } from '../exchange/import-input.js';
import type { JobContext } from '../jobs/kinds.js';
import { fetchFile } from '../uploads/remote-file.js';
import { IMPORT_ENDINGS } from './catalogue/import.js';
import type { ProcessWork } from './definition.js';
import type { ExecutionInput, RunDeps } from './execution.js';
import { derivedContext } from './part-context.js';

type ImportWork = Extract<ProcessWork, { kind: 'import' }>;

/**
 * Imports a file of another server as a collection. A run after an interruption resumes with the data already read.
 */
export async function runImport(
  context: JobContext<ExecutionInput>,
  { read }: ImportWork,
  folder: string,
  { pools, imports }: RunDeps,
): Promise<Record<string, unknown>> {
  const { url, fileName, ...given } = read(context.input.values);
  const fetch = async () => {
    await rm(folder, { recursive: true, force: true });
    const source = { url, fileName, directory: folder, extensions: IMPORT_ENDINGS };
    return fetchFile({ ...source, maxBytes: LIMITS.uploadBytes }, pools, context);
  };
  // Once the file is read, its result is stored.
  const file =
    context.saved === undefined
      ? (await context.step('fetch', 'Fetching the file from the other server', fetch)).path
      : '';
  const input: ImportInput = { ...given, file };
  const inner = derivedContext(context as unknown as JobContext<ImportInput>, { input });
  const { table: id, features, layer } = await imports.runWithin(inner);
  await rm(folder, { recursive: true, force: true });
  return { collection: { id, features, layer } };
}
