import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { sqlitePackage } from '../core/kit/runtime.js';

/** better-sqlite3 in the version that this Node.js loads. Both have the same interface. */
const Database: typeof BetterSqlite3 = createRequire(import.meta.url)(sqlitePackage(process.version));

// The package's types are members of its class; so they are here.
declare namespace Database {
  type Database = BetterSqlite3.Database;
  type Options = BetterSqlite3.Options;
  type Statement<BindParameters extends unknown[] = unknown[], Result = unknown> = BetterSqlite3.Statement<
    BindParameters,
    Result
  >;
}

export default Database;
