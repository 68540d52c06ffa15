import { StatementRecorder } from '../../core/observability/statements.js';
import type { StateDb } from '../schema/database.js';

/** Number of statements that this process has sent to a state database, including starts and ends of transactions. */
export class StatementCount {
  value = 0;
  readonly recorder = new StatementRecorder();
}

/** The count of the database that a store works on. */
export function getStatementCount(db: StateDb): StatementCount {
  return (db.getExecutor().adapter as unknown as { statements: StatementCount }).statements;
}
