import type { HeldReport } from './held.js';
import type { StatementReport } from './statements.js';

/** Statements of a thread since its start, and its open resources. */
export interface WorkerReport {
  /** Identifies the thread among those of all servers. */
  readonly key: string;
  /** Kind of the worker, as in `vector`. */
  readonly worker: string;
  readonly pid: number;
  readonly thread: number;
  readonly statements: StatementReport;
  readonly resources: HeldReport;
}
