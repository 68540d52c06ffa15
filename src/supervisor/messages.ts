import type { LogEventName } from '../core/kit/log-events.js';

/** The sources that changed, for gateways to read. Absent: everything is loaded again. */
export type ReloadScope = readonly unknown[];

/** Messages between the supervisor and its children, over the IPC channel of `child_process.fork`. */

/** Exit code of a child whose configuration is wrong (EX_CONFIG): starting it again cannot help. */
export const EXIT_CONFIGURATION = 78;
/** Exit code of a child that cannot start for now (EX_TEMPFAIL): the supervisor starts it again until it can. */
export const EXIT_TEMPORARY = 75;

export type ToChild =
  /** Load the new configuration next to the old one and reply with `prepared`. */
  | { type: 'prepare'; round: number; changes?: ReloadScope | undefined }
  /** Switch to the configuration that was prepared in this round. */
  | { type: 'commit'; round: number }
  /** Release the configuration that was prepared in this round. */
  | { type: 'abort'; round: number }
  /** A note from another gateway; only gateways read `note`. */
  | { type: 'told'; note: unknown }
  /** Complete current work, accept no new work, and exit with code 0. */
  | { type: 'drain' };

export type ToSupervisor =
  /** The child is alive, and not ready yet: it may have large files to convert. */
  | { type: 'starting' }
  /** The child serves. */
  | { type: 'ready' }
  /** The child makes progress with the reload. */
  | { type: 'preparing'; round: number }
  | { type: 'prepared'; round: number; ok: true }
  | { type: 'prepared'; round: number; ok: false; reason: string }
  /** The child cannot start or continue because of its configuration. It then exits with `EXIT_CONFIGURATION`. */
  | { type: 'configuration-error'; message: string }
  /** The child requests a successor, and to be drained when the successor is ready. */
  | { type: 'replace'; reason: string }
  /** The child requests a reload of all gateways, for example because a watched file changed. */
  | { type: 'reload'; reason: string; changes?: ReloadScope | undefined }
  /** A note to all other gateways. */
  | { type: 'told'; note: unknown }
  | { type: 'log'; event: LogEventName; message: string };
