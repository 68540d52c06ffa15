/** Keeps one child process running, and replaces it when it ends. */

import type { ChildProcess } from 'node:child_process';
import type { LogEventName } from '../core/kit/log-events.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, type ToChild, type ToSupervisor } from './messages.js';

export interface SlotOptions {
  /** Name in the log, for example `engine 1`. */
  name: string;
  /** Forks a child with an IPC channel; `generation` counts from 1. */
  launch(generation: number): ChildProcess;
  /** After a child's end, with the generation it was launched with. */
  cleanUp?(generation: number): void;
  log(event: LogEventName, message: string): void;
  onReady?(): void;
  /** Called when a child ends that was ready. */
  onLost?(): void;
  /** Called for messages that do not concern the life cycle of the child. */
  onMessage?(message: ToSupervisor, child: SlotChild): void;
  /** Called when the child reports an invalid configuration. If it returns false, the child is restarted anyway. */
  onConfigurationError?(message: string): boolean;
  /** Maximum number of consecutive failed starts; 0 for no limit. */
  maxFailedStarts: number;
  /** Called when the limit of failed starts is reached. If it returns false, restarts continue. */
  onGiveUp?(message: string): boolean;
  timing: SlotDelays;
}

export interface SlotDelays {
  /** Delay before the first restart; doubles with each failure. */
  firstRestartMs: number;
  lastRestartMs: number;
  /** Maximum delay after the end of a child that was ready: it can start, and requests wait for it. */
  servedRestartMs: number;
  /** A child that served this long is healthy again: the delay starts over. */
  stableMs: number;
  /** Time to become ready, since the last sign of life. */
  startMs: number;
  /** Time to finish what runs, before the process is killed. */
  drainMs: number;
}

export const DEFAULT_TIMING: SlotDelays = {
  firstRestartMs: 200,
  lastRestartMs: 30_000,
  servedRestartMs: 1000,
  stableMs: 30_000,
  startMs: 60_000,
  drainMs: 10_000,
};

/** One running child process of a slot. */
export class SlotChild {
  ready = false;
  draining = false;
  /** Configuration error reported by the child. */
  complaint: string | undefined;
  readonly #exited: Promise<void>;
  #killTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly process: ChildProcess,
    readonly generation: number,
  ) {
    this.#exited = new Promise((resolve) => process.once('exit', () => resolve()));
    process.once('exit', () => clearTimeout(this.#killTimer));
  }

  send(message: ToChild): void {
    // A child that just died cannot take messages; its exit is handled where exits are.
    if (this.process.connected) this.process.send(message, () => {});
  }

  /** Requests the child to finish, and resolves when it has ended. After `timeoutMs` the child is killed. */
  drain(timeoutMs: number): Promise<void> {
    this.draining = true;
    this.send({ type: 'drain' });
    this.#killTimer ??= setTimeout(() => this.kill(), timeoutMs);
    return this.#exited;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}

export class Slot {
  #child: SlotChild | null = null;
  /** Started by `replace`, not yet ready. */
  #successor: SlotChild | null = null;
  readonly #all = new Set<SlotChild>();
  #generation = 0;
  #failures = 0;
  #failedStarts = 0;
  #restartTimer: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(private readonly options: SlotOptions) {
    this.#child = this.#launch();
  }

  /** The child that serves now. */
  get serving(): SlotChild | null {
    return this.#child?.ready ? this.#child : null;
  }

  /** All children of this slot, including those that are starting or draining. */
  get all(): Iterable<SlotChild> {
    return this.#all;
  }

  /** Starts a second child; when it serves, the first one is drained. */
  replace(reason: string): void {
    if (this.#stopping || this.#successor || !this.#child) return;
    this.options.log(
      'process.replacement.started',
      `the supervisor started the replacement of ${this.options.name}: ${reason}`,
    );
    this.#successor = this.#launch();
  }

  /** Drains all children of this slot and starts none again. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restartTimer);
    await Promise.all([...this.#all].map((child) => child.drain(this.options.timing.drainMs)));
  }

  kill(): void {
    this.#stopping = true;
    clearTimeout(this.#restartTimer);
    for (const child of this.#all) child.kill();
  }

  #launch(): SlotChild {
    this.#generation += 1;
    const { name, timing, log } = this.options;
    const child = new SlotChild(this.options.launch(this.#generation), this.#generation);
    this.#all.add(child);
    const startTimer = setTimeout(() => {
      log(
        'process.late',
        `the supervisor killed ${name}: it made no progress for ${timing.startMs} ms while it started`,
      );
      child.kill();
    }, timing.startMs);
    let stableTimer: NodeJS.Timeout | undefined;
    child.process.on('message', (message: ToSupervisor) => {
      if (message.type === 'starting') {
        if (!child.ready) startTimer.refresh();
        return;
      }
      if (message.type === 'ready') {
        clearTimeout(startTimer);
        stableTimer = setTimeout(() => {
          this.#failures = 0;
        }, timing.stableMs);
        stableTimer.unref();
      }
      this.#receive(child, message);
    });
    child.process.on('error', (error) =>
      log('process.unusable', `${name} could not be started, stopped or reached: ${error.message}`),
    );
    child.process.once('exit', (code, signal) => {
      clearTimeout(startTimer);
      clearTimeout(stableTimer);
      this.#exited(child, code, signal);
    });
    return child;
  }

  #receive(child: SlotChild, message: ToSupervisor): void {
    const { name, log, onMessage } = this.options;
    if (message.type === 'ready') this.#becameReady(child);
    else if (message.type === 'log') log(message.event, `${name}: ${message.message}`);
    else if (message.type === 'configuration-error') child.complaint = message.message;
    else if (message.type === 'replace' && child === this.#child) this.replace(message.reason);
    else onMessage?.(message, child);
  }

  #becameReady(child: SlotChild): void {
    child.ready = true;
    this.#failedStarts = 0;
    if (child === this.#successor) {
      void this.#child?.drain(this.options.timing.drainMs);
      this.#child = child;
      this.#successor = null;
    }
    this.options.onReady?.();
  }

  #exited(child: SlotChild, code: number | null, signal: NodeJS.Signals | null): void {
    this.#all.delete(child);
    this.options.cleanUp?.(child.generation);
    if (child === this.#successor) this.#successor = null;
    if (child !== this.#child) return;
    // A successor that is starting becomes the child.
    this.#child = this.#successor;
    this.#successor = null;
    if (this.#stopping) return;
    const { name, log, onConfigurationError } = this.options;
    log(
      'process.ended',
      `${name} exited ${signal ? `by ${signal}` : `with code ${code}`}${child.ready ? '' : ' before it was ready'}`,
    );
    if (child.ready) this.options.onLost?.();
    const misconfigured = code === EXIT_CONFIGURATION;
    if (misconfigured && onConfigurationError?.(child.complaint ?? `${name} reports a wrong configuration.`))
      return;
    if (!child.ready && code !== EXIT_TEMPORARY && this.#gaveUp(child)) return;
    if (!this.#child) this.#restartLater(child.ready);
  }

  #gaveUp(child: SlotChild): boolean {
    this.#failedStarts += 1;
    const { maxFailedStarts, onGiveUp, name } = this.options;
    if (maxFailedStarts === 0 || this.#failedStarts < maxFailedStarts) return false;
    return (
      onGiveUp?.(child.complaint ?? `${name} failed to start ${this.#failedStarts} times in a row.`) ?? true
    );
  }

  #restartLater(served: boolean): void {
    const { firstRestartMs, lastRestartMs, servedRestartMs } = this.options.timing;
    const longest = served ? servedRestartMs : lastRestartMs;
    const delay = Math.min(longest, firstRestartMs * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
    this.#restartTimer = setTimeout(() => {
      this.#child = this.#launch();
    }, delay);
  }
}
