import type { StateDb } from '../schema/database.js';

/** Statements that this process has sent to a state database, those that begin and end transactions included. */
export class StatementCount {
  value = 0;
}

/** The count of the database that a store works on. */
export function getStatementCount(db: StateDb): StatementCount {
  return (db.getExecutor().adapter as unknown as { statements: StatementCount }).statements;
}
