import { join, resolve } from 'node:path';
import type { Config } from '../../core/config/config.js';
import { isDatabase, withoutPassword } from '../../core/sources/database-url.js';
import { makeDataFolder, STATE_FILE } from '../../stores/database/private-files.js';
import { MoveError, moveState } from '../../stores/state/move.js';
import { openStateDb } from '../../stores/state/state.js';
import { CommandError, EXIT_FAILED } from '../command-error.js';
import { claimDataFolder } from '../local.js';
import { resolveConfig } from '../settings.js';
import { backUpState, RestoreError, recordBackup, restoreState } from './backup.js';

export interface StateOptions {
  dataDir?: string;
  config?: string;
}

/** Value of `--to` for the file in the data folder. */
const FILE = 'file';

/** `graticule state move --to URL`: copies the state of servers that are stopped into another database, which is empty. */
export async function moveTo({ to, ...options }: StateOptions & { to: string }): Promise<void> {
  const config = loadConfig(options);
  if (to !== FILE && !(isDatabase(to) && URL.canParse(to)))
    throw new CommandError(`--to: must be '${FILE}' or the URL of a PostgreSQL database.`);
  const target = to === FILE ? '' : to;
  if (target === config.state.url)
    throw new CommandError(
      `--to: the state is already in ${formatPlace(config, target)}. Name another target.`,
    );
  await ofStoppedServer(config, async () => {
    const from = await openStateDb(config);
    try {
      const other = await openStateDb({ ...config, state: { ...config.state, url: target } });
      try {
        const counts = await moveState(from, other, (table, rows) =>
          process.stdout.write(`  ${table} ${rows}\n`),
        );
        const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
        process.stdout.write(`${rows} rows are in ${formatPlace(config, target)}, read back and compared\n`);
        process.stdout.write(
          `${formatPlace(config, config.state.url)} is unchanged. Set state.url to ${target === '' ? "''" : 'the new database'} before you start servers again.\n`,
        );
      } finally {
        await other.destroy();
      }
    } finally {
      await from.destroy();
    }
  });
}

/** `graticule state backup FILE`: writes the state of a data folder to a file. The server can be running. */
export async function backUp(file: string, options: StateOptions): Promise<void> {
  const { path } = findStateFile(loadConfig(options));
  asCommand(() => backUpState(path, resolve(file)));
  process.stdout.write(`wrote the state to ${file}\n`);
  await recordBackup(path, file);
}

/** `graticule state restore FILE`: replaces the state of a data folder with a backup. The server must be stopped. */
export async function restore(file: string, options: StateOptions): Promise<void> {
  const config = loadConfig(options);
  const { path } = findStateFile(config);
  await ofStoppedServer(config, async () => {
    const before = await restoreState(resolve(file), path);
    process.stdout.write(`restored ${file} to ${path}\n`);
    if (before) process.stdout.write(`the previous state is in ${before}\n`);
  });
}

function loadConfig(options: StateOptions): Config {
  return resolveConfig({ 'data.directory': options.dataDir }, options.config).config;
}

function findStateFile({ data, state }: Config): { path: string } {
  if (state.url !== '')
    throw new CommandError("The state is in PostgreSQL. Back it up with 'pg_dump -n graticule_state'.");
  return { path: join(resolve(data.directory), STATE_FILE) };
}

function formatPlace({ data }: Config, url: string): string {
  return url === '' ? join(resolve(data.directory), STATE_FILE) : withoutPassword(url);
}

async function ofStoppedServer(config: Config, work: () => Promise<void>): Promise<void> {
  const directory = resolve(config.data.directory);
  makeDataFolder(directory);
  const folder = claimDataFolder(directory);
  try {
    await work().catch(asCommandError);
  } finally {
    folder.release();
  }
}

function asCommand(work: () => void): void {
  try {
    work();
  } catch (error) {
    asCommandError(error);
  }
}

function asCommandError(error: unknown): never {
  if (error instanceof MoveError || error instanceof RestoreError)
    throw new CommandError(error.message, EXIT_FAILED);
  throw error;
}
