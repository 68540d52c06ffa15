import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';
import { COMMAND_LINE } from '../services/access/identity/submitter.js';
import type { TileJobInput } from '../services/tiles/jobs/input.js';
import { CACHE_JOB, TILE_JOB_ATTEMPTS, type TileJobState } from '../services/tiles/jobs/service.js';
import { folderName } from '../stores/database/private-files.js';
import type { JobRow, JobStore } from '../stores/jobs/jobs.js';
import { openConfiguredState } from '../stores/state/state.js';
import { CommandError } from './command-error.js';
import { findServerProcess } from './local.js';
import { resolveConfig } from './settings.js';
import { parseBoxOption, readFormat, readZooms, type TileOptions } from './tile-options.js';

export interface SeedCommandOptions extends TileOptions {
  dataDir?: string;
  config?: string;
}

const POLL_MS = 200;
const INTERRUPTED = 130;

/**
 * `graticule seed COLLECTION`: lets the running server of a data folder fill its tile cache, and shows the progress.
 */
export async function seed(collection: string, options: SeedCommandOptions): Promise<void> {
  const { config } = resolveConfig({ 'data.directory': options.dataDir }, options.config);
  const dataDir = resolve(config.data.directory);
  if (findServerProcess(dataDir) === undefined)
    throw new CommandError(
      `--data-dir: no server runs on ${dataDir}. Start one first: seeding fills the cache of a running server.`,
    );
  const bbox = parseBoxOption(options.bbox);
  const input: TileJobInput = {
    operation: 'seed',
    serviceId: collection,
    collections: [collection],
    tileMatrixSetId: options.set ?? 'WebMercatorQuad',
    ...readZooms(options.zooms),
    format: readFormat(options),
    container: 'pmtiles',
    ...(bbox ? { bbox } : {}),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
  };
  const state = await openConfiguredState(config);
  try {
    const resources = [`collection:${collection}`];
    const job = { kind: CACHE_JOB, input, owner: COMMAND_LINE, maxAttempts: TILE_JOB_ATTEMPTS, resources };
    const isOfFolder = config.state.url !== '' && config.cache.redis.url === '';
    const folder = isOfFolder ? folderName(dataDir) : undefined;
    const { id } = (await state.jobs.add({ ...job, folder })).job;
    conclude(await follow(state.jobs, id));
  } finally {
    await state.close();
  }
}

/** Shows the job's progress until it ends; Ctrl-C cancels it. */
async function follow(jobs: JobStore, id: string): Promise<JobRow> {
  const cancel = () => void jobs.cancel(id);
  process.once('SIGINT', cancel).once('SIGTERM', cancel);
  const bar = new SingleBar({
    format: '  {bar} {percentage}%  {tiles} tiles, {rate}/s',
    barsize: 30,
    hideCursor: true,
  });
  bar.start(100, 0, { tiles: 0, rate: 0 });
  try {
    for (;;) {
      const row = await jobs.get(id);
      if (!row) throw new Error('The job was deleted.');
      const { tally, rate = 0 } = parseState(row);
      const fraction = row.state === 'Succeeded' ? 1 : (row.fraction ?? 0);
      bar.update(Math.round(fraction * 100), { tiles: tally?.tiles ?? 0, rate });
      if (row.state !== 'Queued' && row.state !== 'Running') return row;
      await pause(POLL_MS);
    }
  } finally {
    bar.stop();
    process.off('SIGINT', cancel).off('SIGTERM', cancel);
  }
}

function parseState({ result_json, checkpoint_json }: JobRow): TileJobState {
  return JSON.parse(result_json ?? checkpoint_json ?? '{}') as TileJobState;
}

function conclude(job: JobRow): void {
  if (job.state === 'Succeeded') {
    process.stdout.write(`${parseState(job).tally?.tiles ?? 0} tiles were added to the cache\n`);
    return;
  }
  process.stderr.write(`the job ${job.state.toLowerCase()}: ${job.failure_message ?? 'no reason given'}\n`);
  process.exitCode = job.state === 'Cancelled' ? INTERRUPTED : 1;
}
