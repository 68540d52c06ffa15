import type { LogEventName } from '../core/kit/log-events.js';

/** The sources that changed, for gateways to read. Absent: everything is loaded again. */
export type ReloadScope = readonly unknown[];

/** Messages between the supervisor and its children, over the IPC channel of `child_process.fork`. */

/** Exit code of a child whose configuration is wrong (EX_CONFIG): starting it again cannot help. */
export const EXIT_CONFIGURATION = 78;
/** Exit code of a child that cannot start for now (EX_TEMPFAIL): the supervisor starts it again until it can. */
export const EXIT_TEMPORARY = 75;

export type ToChild =
  /** Load the new configuration beside the old one and answer `prepared`. */
  | { type: 'prepare'; round: number; changes?: ReloadScope | undefined }
  /** Switch to what was prepared in this round. */
  | { type: 'commit'; round: number }
  /** Forget what was prepared in this round. */
  | { type: 'abort'; round: number }
  /** Another gateway tells something; `note` is for gateways to read. */
  | { type: 'told'; note: unknown }
  /** Finish what runs, take nothing new, exit with code 0. */
  | { type: 'drain' };

export type ToSupervisor =
  /** The child is alive, and not ready yet: it may have large files to convert. */
  | { type: 'starting' }
  /** The child serves. */
  | { type: 'ready' }
  /** The child has read some more of what it prepares. */
  | { type: 'preparing'; round: number }
  | { type: 'prepared'; round: number; ok: true }
  | { type: 'prepared'; round: number; ok: false; reason: string }
  /** The child cannot start or go on because of its configuration; it exits with `EXIT_CONFIGURATION` next. */
  | { type: 'configuration-error'; message: string }
  /** The child asks for a successor, and to be drained once that one is ready. */
  | { type: 'replace'; reason: string }
  /** The child asks for a reload of all gateways, for example because a watched file changed. */
  | { type: 'reload'; reason: string; changes?: ReloadScope | undefined }
  /** The other gateways are to be told this. */
  | { type: 'told'; note: unknown }
  | { type: 'log'; event: LogEventName; message: string };
