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
  /** Tells the other gateways of this server. */
  tellServer(note: Note): void;
  /** Takes over what a process of another server tells. */
  hear(note: Note): void;
  /** The state could not be read, or what it announces could not be taken over; that is tried again. */
  onError(error: unknown): void;
}

/**
 * For how long after a heartbeat an edit may still be committed: what a database undoes that waits for its commit is undone
 * before others count this process as lost.
 */
const PRESENT_MS = SILENCE_MS - LIMITS.idleTransactionMs - 500;
/** For how long an answer waits for processes that are alive. */
const PATIENCE_MS = 1000;

/**
 * The processes that share a state, of this server and of others: who they are, what they tell each other, and what each
 * of them must take over before a change is answered.
 */
export class Cluster {
  readonly peers: Peers;
  readonly announcements: Announcements;
  /** Whether the other servers count on this process. Those of its machine see that it runs. */
  readonly presence = new Presence();
  /** What is remembered of the state is used only where this says so. */
  readonly pauses: Pauses;
  readonly #options: ClusterOptions;
  readonly #server = serverName();
  /** Versions that other processes said to have taken over. */
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
      () => this.#others.length,
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
    // A process that is killed writes nothing that others would be woken by.
    return this.#alive.filter(({ name }) => name !== this.#options.instance && !hasEnded(name));
  }

  /**
   * Tells all other processes. What files hold is for this server alone; of edits others read in the feed, and the feed
   * notifies them itself.
   */
  tell(note: Note): void {
    this.#options.tellServer(note);
    if (!('change' in note || 'fed' in note)) this.#channel?.send(note, broadcast());
  }

  /** Joins: from now on others wait for this process, and it hears of them. */
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

  /** Shows the others that this process is there. Rejects while the state does not answer. */
  appear(): Promise<void> {
    this.#appearing ??= this.#beat().finally(() => {
      this.#appearing = undefined;
    });
    return this.#appearing;
  }

  /** Takes over what another process tells. */
  hear(note: ClusterNote): void {
    if ('announced' in note) return this.announcements.look();
    if ('members' in note) return void this.#refresh().catch(this.#options.onError);
    this.#applied.set(note.instance, note.applied);
    for (const check of this.#waiting) check();
  }

  /**
   * Waits until all that was announced is taken over: here, and by the other processes that are alive. Resolves with the
   * names of those that were not ready in time; the answer of an audited request names them too. Rejects when it cannot be taken over here.
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

  /** Takes over all that is announced by now. Rejects if it cannot be read or taken over. */
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
    await state.instances.beat({ name, server: this.#server, host: hostname(), release: version(), applied });
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
