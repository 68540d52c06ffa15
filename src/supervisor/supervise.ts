/** The supervisor: starts gateways and engines, keeps them running, reloads and stops them together. */

import { type ChildProcess, fork } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { LogEventName } from '../core/kit/log-events.js';
import { passLines } from './engine-output.js';
import { EXIT_CONFIGURATION, type ReloadScope, type ToSupervisor } from './messages.js';
import { Reloader, type ReloadOutcome } from './reload.js';
import { DEFAULT_TIMING, Slot, type SlotChild, type SlotDelays } from './slot.js';

export interface SuperviseOptions {
  gateways: number;
  engines: number;
  /** Directory for the sockets of the engines; created, readable by this user only. */
  runDir: string;
  /** Compiled modules of the children. */
  gatewayEntry: string | URL;
  engineEntry: string | URL;
  gatewayArguments?: string[];
  /** Added to the environment of the gateways, and of the engines. */
  gatewayEnv?: Record<string, string>;
  engineEnv?: Record<string, string>;
  /** Names of environment variables that the engines, which run native code on foreign data, must not see. */
  engineHidden?: readonly string[];
  log(event: LogEventName, message: string): void;
  timing?: Partial<SlotDelays>;
  /** Called once every gateway and every engine serves. */
  onReady?(): void;
}

/** Environment variable with the folder of the engine sockets. */
export const RUN_DIR_VARIABLE = 'GRATICULE_RUN_DIR';

/** A gateway that fails to start this often in a row ends the server. */
const MAX_FAILED_GATEWAY_STARTS = 3;
/**
 * `--max-semi-space-size=2`: V8 stops the event loop while it copies live young objects. That takes less than 4 ms
 * with 2 MB, and up to 9 ms with the default of 16 MB, in a gateway that makes tiles; the CPU time of a request is
 * the same. `--heap-growing-percent=100`: V8 counts the bytes of tiles as growth of its heap of 30 MB, and marks the
 * whole heap after each growth by 50 %. That takes 10 to 20 % of the CPU time of uncached tiles. With 100 %, the heap
 * may double first.
 */
export const GATEWAY_FLAGS = ['--max-semi-space-size=2', '--heap-growing-percent=100'];
/** Each thread that reads grids calls the collector. A flag that is set later makes V8 refuse compiled code. */
export const ENGINE_FLAGS = ['--expose-gc'];
/** `sun_path` of Linux without its terminating zero. */
const MAX_SOCKET_PATH = 107;

/**
 * Runs until SIGTERM or SIGINT, or until the gateways cannot run. Resolves with the exit code for the process: 0
 * after a graceful stop, 78 for an invalid configuration, 1 if gateways keep failing. A second signal exits
 * immediately.
 */
export function supervise(options: SuperviseOptions): Promise<number> {
  process.title = 'graticule: supervisor';
  prepareRunDir(options.runDir);
  return new Promise((resolve) => new Supervisor(options, resolve));
}

function prepareRunDir(runDir: string): void {
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  // A process that can connect to an engine can read files through it.
  chmodSync(runDir, 0o700);
  if (Buffer.byteLength(socketPath(runDir, 99, 99_999)) > MAX_SOCKET_PATH) {
    throw new Error(`The path of the run directory is too long for a socket: ${runDir}`);
  }
  removeFiles(runDir, 'engine-');
}

function removeFiles(runDir: string, prefix: string): void {
  for (const name of readdirSync(runDir))
    if (name.startsWith(prefix)) rmSync(join(runDir, name), { force: true });
}

function socketPath(runDir: string, index: number, generation: number): string {
  return join(runDir, `engine-${index}-${generation}.sock`);
}

class Supervisor {
  readonly #engines: Slot[];
  readonly #gateways: Slot[];
  readonly #reloader = new Reloader(() => this.#servingGateways());
  #announced = false;
  #stopping = false;

  constructor(
    private readonly options: SuperviseOptions,
    private readonly finish: (code: number) => void,
  ) {
    const { engines, gateways } = options;
    this.#engines = Array.from({ length: engines }, (_, index) => this.#engineSlot(index + 1));
    this.#gateways = Array.from({ length: gateways }, (_, index) => this.#gatewaySlot(index + 1));
    process.on('SIGTERM', this.#onStopSignal);
    process.on('SIGINT', this.#onStopSignal);
    process.on('SIGHUP', this.#onReloadSignal);
    // The children end with this process in every case: if it cannot stop them, they notice that the channel is
    // closed.
    process.on('exit', this.#killAll);
  }

  #engineSlot(index: number): Slot {
    const { runDir, engineEntry, log } = this.options;
    return new Slot({
      name: `engine ${index}`,
      log,
      timing: { ...DEFAULT_TIMING, ...this.options.timing },
      maxFailedStarts: 0,
      launch: (generation) => {
        const path = socketPath(runDir, index, generation);
        const engine = this.#fork(engineEntry, [path], this.#engineEnvironment(), ENGINE_FLAGS, 'pipe');
        passLines(engine.stderr!, (text) => process.stderr.write(text));
        return engine;
      },
      cleanUp: (generation) => {
        rmSync(socketPath(runDir, index, generation), { force: true });
        // Temporary files of an engine that crashed.
        removeFiles(runDir, `engine-${index}-${generation}-`);
      },
      onReady: () => this.#announce(),
    });
  }

  #gatewaySlot(index: number): Slot {
    const { runDir, gatewayEntry, gatewayArguments = [], log } = this.options;
    return new Slot({
      name: `gateway ${index}`,
      log,
      timing: { ...DEFAULT_TIMING, ...this.options.timing },
      maxFailedStarts: MAX_FAILED_GATEWAY_STARTS,
      launch: () =>
        this.#fork(
          gatewayEntry,
          gatewayArguments,
          {
            ...process.env,
            ...this.options.gatewayEnv,
            [RUN_DIR_VARIABLE]: runDir,
            GRATICULE_GATEWAY: String(index),
          },
          GATEWAY_FLAGS,
        ),
      onReady: () => this.#announce(),
      // The gateway may have committed edits without notifying the other gateways.
      onLost: () => void this.#reloadOthers(`gateway ${index} ended`),
      onMessage: (message, child) => this.#receive(message, child),
      onConfigurationError: (message) => this.#misconfigured(message),
      onGiveUp: (message) => this.#giveUp(message),
    });
  }

  #engineEnvironment(): NodeJS.ProcessEnv {
    const { engineEnv, engineHidden = [] } = this.options;
    const env = { ...process.env, UV_THREADPOOL_SIZE: '4', GDAL_NUM_THREADS: '1', ...engineEnv };
    return Object.fromEntries(Object.entries(env).filter(([name]) => !engineHidden.includes(name)));
  }

  #fork(
    entry: string | URL,
    args: string[],
    env: NodeJS.ProcessEnv,
    flags: readonly string[],
    errors: 'inherit' | 'pipe' = 'inherit',
  ): ChildProcess {
    return fork(entry, args, {
      execArgv: [...process.execArgv, ...flags],
      env,
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', errors, 'ipc'],
    });
  }

  #receive(message: ToSupervisor, child: SlotChild): void {
    if (message.type === 'prepared' || message.type === 'preparing') this.#reloader.receive(message, child);
    else if (message.type === 'reload') void this.#reload(message.reason, message.changes);
    else if (message.type === 'told') this.#tellOthers(message, child);
  }

  /** Gateways that are starting also receive the note, because they may have read the data before the edit. */
  #tellOthers(message: Extract<ToSupervisor, { type: 'told' }>, from: SlotChild): void {
    for (const slot of this.#gateways) for (const child of slot.all) if (child !== from) child.send(message);
  }

  #servingGateways(): SlotChild[] {
    return this.#gateways.flatMap(({ serving }) => (serving ? [serving] : []));
  }

  #announce(): void {
    if (this.#announced || ![...this.#gateways, ...this.#engines].every(({ serving }) => serving)) return;
    this.#announced = true;
    this.options.onReady?.();
  }

  /** Ends the server unless other gateways still serve, which a full disk allows. */
  #giveUp(message: string): boolean {
    if (this.#servingGateways().length === 0) {
      void this.#stop(1, message);
      return true;
    }
    this.options.log(
      'process.unusable',
      `${message} Other gateways continue; the supervisor restarts it later.`,
    );
    return false;
  }

  /** Ends the server unless other gateways still serve with the configuration they have. */
  #misconfigured(message: string): boolean {
    if (this.#servingGateways().length > 0) {
      this.options.log('server.configuration.wrong', message);
      return false;
    }
    void this.#stop(EXIT_CONFIGURATION, message);
    return true;
  }

  async #reloadOthers(reason: string): Promise<void> {
    if (this.#servingGateways().length > 0) await this.#reload(reason);
  }

  async #reload(reason: string, changes?: ReloadScope): Promise<void> {
    const { log } = this.options;
    if (this.#stopping) return;
    log('reload.started', `reload started: ${reason}`);
    const outcome: ReloadOutcome = await this.#reloader.reload(changes);
    if (outcome.ok) log('reload.completed', 'reload completed; all gateways use the new configuration');
    else log('reload.failed', `reload failed; keeping the previous configuration: ${outcome.reason}`);
  }

  /** Gateways first: their last requests still need the engines. */
  async #stop(code: number, reason?: string): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    const event = code === EXIT_CONFIGURATION ? 'server.configuration.wrong' : 'server.failed';
    if (reason) this.options.log(event, reason);
    await Promise.all(this.#gateways.map((slot) => slot.stop()));
    await Promise.all(this.#engines.map((slot) => slot.stop()));
    process.off('SIGTERM', this.#onStopSignal);
    process.off('SIGINT', this.#onStopSignal);
    process.off('SIGHUP', this.#onReloadSignal);
    process.off('exit', this.#killAll);
    this.finish(code);
  }

  readonly #onStopSignal = (signal: NodeJS.Signals): void => {
    if (this.#stopping) process.exit(1);
    this.options.log('server.stopping', `the server received ${signal}; stopping`);
    void this.#stop(0);
  };

  readonly #onReloadSignal = (): void => {
    void this.#reload('SIGHUP');
  };

  readonly #killAll = (): void => {
    for (const slot of [...this.#gateways, ...this.#engines]) slot.kill();
  };
}
