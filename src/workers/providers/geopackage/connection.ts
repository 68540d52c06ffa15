import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { TaskFailure } from '../../../core/tasks.js';
import { sqliteExtensionPath } from '../../../native/index.js';

type Db = Database.Database;

interface Open {
  db: Db;
  inode: number;
  statements: Map<string, Database.Statement>;
}

/** Files kept open per thread; each costs a few MB of page cache. */
const MAX_OPEN = 24;
const MAX_STATEMENTS = 64;
const CACHE_KIB = 8192;

const open = new Map<string, Open>();

/** A read-only connection to a GeoPackage, kept open; reopened when the file was replaced. */
export function reader(path: string): Db {
  return opened(path).db;
}

/** A prepared statement of a file, kept with its connection. */
export function statement(path: string, sql: string): Database.Statement {
  const entry = opened(path);
  let prepared = entry.statements.get(sql);
  if (!prepared) {
    if (entry.statements.size >= MAX_STATEMENTS) entry.statements.clear();
    prepared = entry.db.prepare(sql);
    entry.statements.set(sql, prepared);
  }
  return prepared;
}

function opened(path: string): Open {
  const inode = inodeOf(path);
  const found = open.get(path);
  if (found && found.inode === inode) {
    // Re-inserting keeps the map in order of use.
    open.delete(path);
    open.set(path, found);
    return found;
  }
  found?.db.close();
  const entry = { db: connect(path, true), inode, statements: new Map() };
  open.set(path, entry);
  evict();
  return entry;
}

function inodeOf(path: string): number {
  try {
    return statSync(path).ino;
  } catch (error) {
    throw new TaskFailure(
      'source-missing',
      'The file of this collection is gone.',
      `${path}: ${String(error)}`,
    );
  }
}

function evict(): void {
  while (open.size > MAX_OPEN) {
    const [path, entry] = open.entries().next().value!;
    entry.db.close();
    open.delete(path);
  }
}

/** Opens a GeoPackage with the native functions loaded. Schemas of foreign files are not trusted. */
export function connect(path: string, readonly: boolean): Db {
  try {
    const db = new Database(path, { readonly, fileMustExist: readonly, timeout: 10_000 });
    db.pragma('trusted_schema = OFF');
    db.pragma(`cache_size = -${CACHE_KIB}`);
    db.loadExtension(sqliteExtensionPath());
    return db;
  } catch (error) {
    throw new TaskFailure(
      'source-unreadable',
      'The file is not a readable GeoPackage.',
      `${path}: ${String(error)}`,
    );
  }
}

/** Closes every connection of this thread. */
export function closeAll(): void {
  for (const { db } of open.values()) db.close();
  open.clear();
}

/** Quotes an SQL identifier. */
export function quote(identifier: string): string {
  return `"${identifier.replace(/"/g, '""')}"`;
}
