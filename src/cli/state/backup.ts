import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { Kysely } from 'kysely';
import { computeEpoch, EPOCH_SIZE } from '../../core/streams/events.js';
import Database from '../../native/sqlite.js';
import { AuditStore, BACKUP_ACTION } from '../../stores/audit/audit.js';
import { StateDialect } from '../../stores/database/dialect.js';
import { makeStateFile } from '../../stores/database/private-files.js';
import type { StateDb } from '../../stores/schema/database.js';
import { getVocabulary } from '../../stores/schema/vocabulary.js';
import { openFile } from '../../stores/state/state.js';
import { firstCursor, readNewestCursor } from '../../stores/streams/feed.js';
import { StateLink } from '../../workers/state/link.js';

/** Backups of a state in a file, made while it is served, and their way back. */

/** Reason why a backup cannot be created or restored, as a sentence for the user. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

/** Epochs that a restored feed may skip: two restored from one backup have different ones. */
const EPOCHS = 10_000;
const EPOCH_END = 2 ** 20;

/** Writes a state of one moment into a new file, which is there whole or not at all. Rejects when it exists. */
export function backUpState(path: string, file: string): void {
  if (!existsSync(path)) throw new RestoreError(`There is no state at ${path}.`);
  if (existsSync(file))
    throw new RestoreError(`${file} already exists. Name another file, or remove it first.`);
  const part = `${file}.part`;
  rmSync(part, { force: true });
  // SQLite writes into an existing empty file, which keeps our file permissions.
  closeSync(openSync(part, 'wx', 0o600));
  try {
    copyDatabase(path, part);
    requireState(part);
    sync(part);
    // Unlike a renaming, this fails when another has come before.
    linkSync(part, file);
    sync(dirname(file));
  } finally {
    rmSync(part, { force: true });
  }
}

/**
 * Records in the audit trail that the state was saved. The state keeps its tables: a backup before an upgrade must not
 * upgrade it.
 */
export async function recordBackup(path: string, file: string, worker?: URL): Promise<void> {
  const db: StateDb = new Kysely({ dialect: new StateDialect(await StateLink.open(path, worker)) });
  try {
    await new AuditStore(db).append({
      at: Date.now(),
      event_type: 'DataExport',
      action: BACKUP_ACTION,
      actor: 'system',
      actor_type: 'System',
      outcome: 'Success',
      resource_type: 'state',
      resource_id: null,
      correlation_id: '-',
      remote_ip: null,
      user_agent: null,
      details: JSON.stringify({ file: basename(file) }),
    });
  } finally {
    await db.destroy();
  }
}

/**
 * Replaces the state of a stopped server with a backup. The feed then has a new epoch, so that subscribers learn that
 * events since the backup are lost. The previous state is kept next to the new one; returns its path. Rejects with
 * `RestoreError` if the backup is damaged, is not a state, or was written by a newer version.
 */
export async function restoreState(file: string, path: string, worker?: URL): Promise<string | undefined> {
  requireState(file);
  const part = `${path}.part`;
  for (const end of ['', '-wal', '-shm']) rmSync(part + end, { force: true });
  try {
    makeStateFile(part);
    copyFileSync(file, part);
    await beginAnew(part, worker);
    sync(part);
    const before = setAside(path);
    renameSync(part, path);
    sync(dirname(path));
    return before;
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(part + end, { force: true });
  }
}

/** Its journal is written into it first; one that is too damaged for that is worth no journal. */
function setAside(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const before = `${path}.before-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  writeJournal(path);
  linkSync(path, before);
  for (const end of ['-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, before + end);
  return before;
}

async function beginAnew(path: string, worker: URL | undefined): Promise<void> {
  const db = await openFile(path, worker);
  try {
    const { broken } = await new AuditStore(db).verify();
    if (broken)
      throw new RestoreError(`The audit chain of the backup is broken at ${broken.id}: ${broken.reason}.`);
    await beginEpoch(db);
  } finally {
    await db.destroy();
  }
}

/** Older events stay, in their order. If no epochs are left, the feed starts at another position without them. */
async function beginEpoch(db: StateDb): Promise<void> {
  const epoch = computeEpoch(await readNewestCursor(db)) + 1 + Math.floor(Math.random() * EPOCHS);
  await db.transaction().execute(async (trx) => {
    if (epoch >= EPOCH_END) await trx.deleteFrom('feed').execute();
    await getVocabulary(trx).setNewestCursor(trx, epoch < EPOCH_END ? epoch * EPOCH_SIZE : firstCursor());
  });
}

function requireState(file: string): void {
  if (!existsSync(file)) throw new RestoreError(`There is no file ${file}.`);
  const flaw = findFlaw(file);
  if (flaw !== undefined)
    throw new RestoreError(`${file} is not the state of a server, or is damaged: ${flaw}.`);
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a consistent copy of a database into an empty file, while other processes read and write the database. */
function copyDatabase(path: string, file: string): void {
  const db = new Database(path, { readonly: true });
  try {
    db.prepare('VACUUM INTO ?').run(file);
  } finally {
    db.close();
  }
}

/** Problem of a file as a state; undefined if it is valid. */
function findFlaw(file: string): string | undefined {
  try {
    const db = new Database(file, { readonly: true });
    try {
      const damage = db.pragma('integrity_check', { simple: true });
      db.prepare('SELECT count(*) FROM kysely_migration, audit').get();
      return damage === 'ok' ? undefined : String(damage);
    } finally {
      db.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}

/** Writes the journal of a database into it. Does nothing where the database is too damaged for that. */
function writeJournal(path: string): void {
  try {
    const db = new Database(path);
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
  } catch {
    // The file is unchanged.
  }
}
