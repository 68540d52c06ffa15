/**
 * The side of a gateway or an engine in the protocol with the supervisor. Without a supervisor, the process only
 * serves.
 */

import { LOG_EVENTS, type LogEventName } from '../core/kit/log-events.js';
import { EXIT_CONFIGURATION, type ReloadScope, type ToChild, type ToSupervisor } from './messages.js';

/** First half of a reload. `commit` must not fail: what can fail belongs before it. */
export interface PreparedReload {
  commit(): void;
  /** Releases the prepared configuration after an aborted reload. */
  abort?(): void;
}

export interface ChildHandlers {
  /**
   * Loads the new configuration next to the running one, and calls `onProgress` after each source. A rejection aborts
   * the reload in every gateway.
   */
  onReload?: (changes: ReloadScope | undefined, onProgress: () => void) => Promise<PreparedReload>;
  /** Receives a note from another gateway. */
  onTold?: (note: unknown) => void;
  /** Finishes what runs and exits the process with code 0. */
  onDrain: () => void;
  /** Ends the process immediately, because the supervisor has ended. Default: `process.exit(1)`. */
  onOrphaned?: () => void;
}

export interface SupervisorLink {
  /** True when a supervisor is there. */
  readonly supervised: boolean;
  /** Reports that this process serves. */
  ready(): void;
  /** Reports a configuration error and exits so that the supervisor does not start this process again. */
  configurationError(message: string): Promise<never>;
  /** Requests a successor. Returns false without a supervisor. */
  requestReplacement(reason: string): boolean;
  /** Requests a reload of all gateways. Returns false without a supervisor. */
  requestReload(reason: string, changes?: ReloadScope): boolean;
  /** Sends a note to the other gateways. `done` is called when the note has left this process, or with false. */
  tellOthers(note: unknown, done: (sent: boolean) => void): void;
  /** A line for the supervisor's log, or stderr without one. */
  log(event: LogEventName, message: string): void;
}

/** Milliseconds between signs of life of a child that is not ready yet. */
const STARTING_MS = 1000;
/** Milliseconds between signs of progress of a reload. */
const PREPARING_MS = 5000;

/**
 * Joins the supervisor that forked this process. The process ends with the supervisor, however that one ends.
 * SIGINT of a terminal reaches the whole process group: under a supervisor it is ignored here, and `drain` follows.
 */
export function joinSupervisor(handlers: ChildHandlers): SupervisorLink {
  const supervised = process.send !== undefined;
  const send = (message: ToSupervisor, done: (sent: boolean) => void = () => {}): boolean => {
    const open = supervised && process.connected;
    // The channel may close between the check and the write.
    if (open) process.send!(message, undefined, undefined, (error) => done(!error));
    else done(false);
    return open;
  };
  const starting = setInterval(() => void send({ type: 'starting' }), STARTING_MS).unref();
  if (supervised) {
    process.on('message', takeMessages(handlers, send));
    process.on('disconnect', handlers.onOrphaned ?? (() => process.exit(1)));
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
    process.on('SIGTERM', handlers.onDrain);
  } else {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, handlers.onDrain);
  }
  return {
    supervised,
    ready: () => {
      clearInterval(starting);
      send({ type: 'ready' });
    },
    configurationError: (message) => exitMisconfigured(message, supervised),
    requestReplacement: (reason) => send({ type: 'replace', reason }),
    requestReload: (reason, changes) => send({ type: 'reload', reason, changes }),
    tellOthers: (note, done) => void send({ type: 'told', note }, done),
    log: (event, message) => {
      if (!send({ type: 'log', event, message }))
        process.stderr.write(`${LOG_EVENTS[event].level}: ${message}\n`);
    },
  };
}

async function exitMisconfigured(message: string, supervised: boolean): Promise<never> {
  const report: ToSupervisor = { type: 'configuration-error', message };
  if (supervised && process.connected) {
    await new Promise<void>((resolve) => process.send?.(report, undefined, undefined, () => resolve()));
  } else {
    process.stderr.write(`${message}\n`);
  }
  process.exit(EXIT_CONFIGURATION);
}

/** Returns the function that handles messages of a supervisor. Replies are sent by `send`. */
export function takeMessages(
  handlers: ChildHandlers,
  send: (message: ToSupervisor) => boolean,
): (message: ToChild) => void {
  let prepared: { round: number; reload: PreparedReload } | null = null;
  const forget = () => {
    prepared?.reload.abort?.();
    prepared = null;
  };
  /** Reports at intervals that the reload makes progress. */
  const tellProgress = (round: number) => {
    let told = performance.now();
    return () => {
      if (performance.now() - told < PREPARING_MS) return;
      told = performance.now();
      send({ type: 'preparing', round });
    };
  };
  const prepare = async (round: number, changes: ReloadScope | undefined) => {
    forget();
    try {
      const reload = (await handlers.onReload?.(changes, tellProgress(round))) ?? { commit: () => {} };
      prepared = { round, reload };
      send({ type: 'prepared', round, ok: true });
    } catch (error) {
      send({
        type: 'prepared',
        round,
        ok: false,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  };
  return (message) => {
    if (message.type === 'drain') handlers.onDrain();
    else if (message.type === 'prepare') void prepare(message.round, message.changes);
    else if (message.type === 'abort') forget();
    else if (message.type === 'told') handlers.onTold?.(message.note);
    else if (message.type === 'commit' && prepared?.round === message.round) {
      prepared.reload.commit();
      prepared = null;
    }
  };
}
