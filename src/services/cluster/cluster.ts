import { hostname } from 'node:os';
import type { ClusterNote, Note } from '../../core/cluster/notes.js';
import type { Config } from '../../core/config/config.js';
import { LIMITS } from '../../core/kit/limits.js';
import { version } from '../../core/kit/version.js';
import { monotonicMs, Presence } from '../../core/values/presence.js';
import { noteBehind } from '../../stores/audit/audit-scope.js';
import { hasEnded, serverName } from '../../stores/database/instance.js';
import { BEAT_MS, type Instance, SILENCE_MS } from '../../stores/database/instances.js';
import type { PostgresChannel } from '../../stores/database/postgres-channel.js';
import type { State } from '../../stores/state/state.js';
import { broadcast } from '../telemetry/event-metrics.js';
import { Announcements } from './announcements.js';
import { Pauses } from './pauses.js';
import { Peers } from './peers.js';

export interface ClusterOptions {
  readonly state: State;
  readonly config: Config['state'];
  /** Names this process. */
  readonly instance: string;
  /** Capacity that the heartbeats of this process report. */
  readonly capacity?: Pick<Instance, 'servingUnits' | 'deploymentRole'>;
  /** Sends a note to the other gateways of this server. */
  tellServer(note: Note): void;
  /** Applies a note of a process of another server. */
  hear(note: Note): void;
  /** Called if the state could not be read, or its announcements could not be applied. Both are retried. */
  onError(error: unknown): void;
}

/**
 * Milliseconds after a heartbeat in which an edit can still be committed. The database rolls back a transaction that
 * waits for its commit before other processes count this process as lost.
 */
const PRESENT_MS = SILENCE_MS - LIMITS.idleTransactionMs - 500;
/** Milliseconds that a response waits for processes that are alive. */
const PATIENCE_MS = 1000;

/**
 * The processes that share a state, on this server and on other servers. It includes their members, their messages,
 * and the announcements that each must apply before the response to a change.
 */
export class Cluster {
  readonly peers: Peers;
  readonly announcements: Announcements;
  /** Whether the other servers count this process as present. Processes on its machine see that it runs. */
  readonly presence = new Presence();
  /** Cached data of the state can be used only if `pauses` permits it. */
  readonly pauses: Pauses;
  readonly #options: ClusterOptions;
  readonly #server = serverName();
  /** Versions that other processes reported as applied. */
  readonly #applied = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  readonly #unfollow: (() => void)[] = [];
  #alive: readonly Instance[] = [];
  #appearing: Promise<void> | undefined;
  #channel: PostgresChannel | undefined;

  /** Resolves before anything else of the state is read. */
  static async open(options: ClusterOptions): Promise<Cluster> {
    return new Cluster(options, await options.state.announcements.newest());
  }

  private constructor(options: ClusterOptions, start: number) {
    this.#options = options;
    const { url, graceSeconds } = options.config;
    this.pauses = new Pauses({
      catchUp: () => this.catchUp(),
      ...(url !== '' && graceSeconds > 0 ? { graceMs: graceSeconds * 1000 } : {}),
      ...(url === '' ? {} : { changeGraceMs: SILENCE_MS }),
    });
    this.peers = new Peers(
      options.instance,
      () => this.#others.map(({ name }) => name),
      (note) => this.tell(note),
    );
    this.announcements = new Announcements({
      store: options.state.announcements,
      start,
      applied: (applied) => this.tell({ applied, instance: options.instance }),
      onError: options.onError,
    });
  }

  /** The other processes that share the state and are alive. */
  get #others(): readonly Instance[] {
    // A killed process writes no signal, so its end is checked here.
    return this.#alive.filter(({ name }) => name !== this.#options.instance && !hasEnded(name));
  }

  /**
   * Sends a note to all other processes. Notes about files concern only this server. Other servers read edits in the
   * feed, which sends separate signals.
   */
  tell(note: Note): void {
    this.#options.tellServer(note);
    if (!('change' in note || 'fed' in note)) this.#channel?.send(note, broadcast());
  }

  /** Joins the cluster: from now on other processes wait for this one, and it receives their notes. */
  async start(): Promise<void> {
    const { config, state, onError } = this.#options;
    if (config.url !== '') this.#channel = await this.#listen();
    await state.instances.sweep();
    await this.#beat();
    this.tell({ members: this.#options.instance });
    this.#unfollow.push(state.signals.on('announcements', () => this.announcements.look()));
    if (state.signals.hearing === 'file')
      this.#unfollow.push(state.signals.on('instances', () => void this.#refresh().catch(onError)));
    this.announcements.look();
    this.#timer = setInterval(() => {
      if (state.instances.needsHeartbeats(this.#alive)) void this.#beat().catch(onError);
    }, BEAT_MS).unref();
  }

  /** Shows the other processes that this one is present. Rejects while the state database does not respond. */
  appear(): Promise<void> {
    this.#appearing ??= this.#beat().finally(() => {
      this.#appearing = undefined;
    });
    return this.#appearing;
  }

  /** Applies a note of another process. */
  hear(note: ClusterNote): void {
    if ('announced' in note) return this.announcements.look();
    if ('members' in note) return void this.#refresh().catch(this.#options.onError);
    this.#applied.set(note.instance, note.applied);
    for (const check of this.#waiting) check();
  }

  /**
   * Waits until all announcements are applied by this process and the other processes that are alive. Resolves with
   * the names of processes that were not ready in time, which the response of an audited request also lists. Rejects
   * if this process cannot apply them.
   */
  async settle(): Promise<string[]> {
    const announced = await this.#options.state.announcements.newest();
    this.tell({ announced });
    await Promise.all([this.announcements.reached(announced), this.#refresh()]);
    const missing = () =>
      this.#others.filter(({ name, applied }) => Math.max(applied, this.#applied.get(name) ?? 0) < announced);
    await this.#until(() => missing().length === 0);
    const behind = missing().map(({ name }) => name);
    noteBehind(behind);
    return behind;
  }

  /** Applies all present announcements. Rejects if they cannot be read or applied. */
  async catchUp(): Promise<void> {
    await this.announcements.reached(await this.#options.state.announcements.newest());
  }

  async close(): Promise<void> {
    this.pauses.close();
    clearInterval(this.#timer);
    for (const unfollow of this.#unfollow) unfollow();
    this.announcements.close();
    await this.#options.state.instances.remove(this.#options.instance).catch(this.#options.onError);
    this.tell({ members: this.#options.instance });
    await this.#channel?.close();
  }

  async #listen(): Promise<PostgresChannel> {
    const { PostgresChannel } = await import('../../stores/database/postgres-channel.js');
    const { config, hear } = this.#options;
    return new PostgresChannel({
      url: config.url,
      server: this.#server,
      connectMs: config.connectMs,
      heard: (note) => hear(note as Note),
      signals: this.#options.state.signals,
    });
  }

  async #beat(): Promise<void> {
    const { state, instance: name } = this.#options;
    const { applied } = this.announcements;
    const [begun, contact] = [monotonicMs(), performance.now()];
    const about = { name, server: this.#server, host: hostname(), release: version(), applied };
    await state.instances.beat({ ...about, ...this.#options.capacity });
    this.pauses.noteContact(contact);
    if (this.#options.config.url !== '') this.presence.prolong(begun + PRESENT_MS);
    await this.#refresh();
  }

  async #refresh(): Promise<void> {
    this.#alive = await this.#options.state.instances.alive();
    const names = new Set(this.#alive.map(({ name }) => name));
    for (const name of this.#applied.keys()) if (!names.has(name)) this.#applied.delete(name);
  }

  #until(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve();
      };
      const check = () => {
        if (done()) end();
      };
      const timer = setTimeout(end, PATIENCE_MS);
      this.#waiting.add(check);
    });
  }
}
