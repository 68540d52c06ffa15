import { MERGE_MODES, type MergeRequest } from '../core/edits/merges.js';
import { ApiError } from '../core/errors/errors.js';
import { formatFieldErrors } from '../core/errors/field-errors.js';
import { COMMAND_LINE } from '../services/access/identity/submitter.js';
import { Edits } from '../services/edits/edits.js';
import { Merges } from '../services/edits/merges.js';
import { ImportService } from '../services/exchange/import.js';
import type { ImportResult } from '../services/exchange/import-input.js';
import { JobEngine } from '../services/jobs/engine.js';
import { folderName } from '../stores/database/private-files.js';
import { type CatalogOptions, type LocalCatalog, withCatalog } from './catalog.js';
import { CommandError } from './command-error.js';
import { followJob } from './follow-job.js';
import { notifyServer } from './local.js';

export interface MergeOptions extends Omit<CatalogOptions, 'crs'> {
  mode?: string;
  key?: string;
  rejectRows?: boolean;
}

interface FileOptions extends MergeOptions {
  layer?: string;
  crs?: string;
}

/** `graticule import FILE --into COLLECTION`: takes the rows of a file over into a collection, as a durable job. */
export async function mergeFile(file: string, into: string, options: FileOptions): Promise<void> {
  const { crs, ...catalogOptions } = options;
  const merge = parseRequest(options);
  await withCatalog(catalogOptions, async (local) => {
    const { jobs, imports } = mergingParts(local);
    jobs.start();
    try {
      const input = { file, layer: options.layer, table: into, sourceCrs: crs, merge };
      const { id } = await imports.submit(input, { owner: COMMAND_LINE });
      const job = await followJob(jobs, id);
      notifyServer(local.dataDir);
      process.stdout.write(formatSummary(JSON.parse(job.result_json!) as ImportResult));
    } catch (error) {
      if (error instanceof ApiError) throw new CommandError(error.message);
      throw error;
    } finally {
      await jobs.stop();
    }
  });
}

function parseRequest({ mode: name = 'append', key, rejectRows = false }: MergeOptions): MergeRequest {
  const mode = MERGE_MODES.find((one) => one === name);
  if (!mode) throw new CommandError(`--mode: must be one of ${MERGE_MODES.join(', ')}.`);
  if ((mode === 'upsert') !== (key !== undefined))
    throw new CommandError('--key: is required for --mode upsert, and not allowed for other modes.');
  return { mode, rejectRows, ...(key === undefined ? {} : { keyField: key }) };
}

function mergingParts({ catalog, pools, dataDir, config, state }: LocalCatalog) {
  const jobs = new JobEngine(state.jobs, {
    folder: config.state.url === '' ? undefined : folderName(dataDir),
    owner: COMMAND_LINE,
    onError: (error: unknown) => process.stderr.write(`${String(error)}\n`),
  });
  const edits = new Edits(pools, () => {});
  const merges = new Merges({ pools, edits, dataDir, catalog: () => catalog });
  const imports = new ImportService({
    pools,
    jobs,
    dataDir,
    merges,
    publish: async () => void notifyServer(dataDir),
    isPublished: (id) => catalog.byId(id) !== undefined,
  });
  return { jobs, imports };
}

function formatSummary({ table, merge }: ImportResult): string {
  const { inserted, updated, unchanged, deleted, rejected, rejections } = merge!;
  const rows = rejections.map(({ row, reasons }) => `row ${row}: ${formatFieldErrors(reasons)}\n`);
  const counts = `${inserted} inserted, ${updated} updated, ${unchanged} unchanged, ${deleted} deleted, ${rejected} rejected`;
  return `${rows.join('')}imported into the collection ${table}: ${counts}\n`;
}
