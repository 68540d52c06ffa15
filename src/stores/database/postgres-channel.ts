import pg from 'pg';
import { CHANGES_CHANNEL } from '../schema/vocabulary.js';
import { hearSignal, type StateSignals } from './signals.js';

/** A note between servers: JSON. */
export interface ChannelOptions {
  readonly url: string;
  /** Name of the server. Notes from its processes are ignored. */
  readonly server: string;
  readonly connectMs: number;
  heard(note: unknown): void;
  /** Signals for listeners to changes of the state, which notifications wake. */
  readonly signals: StateSignals;
}

const CHANNEL = 'graticule_state';
/** Bytes of a part of a note: PostgreSQL takes notifications of less than 8000. */
const PART_SIZE = 7500;
/** Maximum numbers of waiting notes, and of notes whose parts have not all arrived. */
const MAX_WAITING = 10_000;
const MAX_INCOMPLETE = 100;
/** Interval and timeout of the query that detects a lost connection, in milliseconds. */
const CHECK_MS = 10_000;
const ANSWER_MS = 5000;
const CLOSE_MS = 1000;
const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 5000;

interface PendingNotification {
  readonly parts: readonly string[];
  readonly done: (sent: boolean) => void;
}

/**
 * Sends notes between the servers of one state in PostgreSQL, by NOTIFY. Notes without a connection are lost. No
 * change depends only on its note.
 */
export class PostgresChannel {
  readonly #options: ChannelOptions;
  readonly #incomplete = new Map<string, string[]>();
  readonly #waiting: PendingNotification[] = [];
  #client: pg.Client | undefined;
  #sending = false;
  #closed = false;
  #number = 0;
  #backoff = FIRST_BACKOFF_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
    void this.#open();
  }

  /** Sends a note. `done` receives whether it was sent. */
  send(note: unknown, done: (sent: boolean) => void): void {
    if (!this.#client || this.#waiting.length >= MAX_WAITING) return done(false);
    this.#number += 1;
    this.#waiting.push({ parts: readParts(note, this.#options.server, this.#number), done });
    void this.#sendAll(this.#client);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#drop(undefined);
    // A server that disappeared without notice does not respond to this either.
    const late = new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref());
    await Promise.race([client?.end().catch(() => {}), late]);
  }

  async #open(): Promise<void> {
    const { url, connectMs } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: 'graticule',
      connectionTimeoutMillis: connectMs,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === CHANGES_CHANNEL) hearSignal(this.#options.signals, payload);
      else this.#take(payload);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}; LISTEN ${CHANGES_CHANNEL}`);
    } catch {
      await client.end().catch(() => {});
      return this.#again();
    }
    if (this.#closed) return void client.end().catch(() => {});
    this.#client = client;
    this.#backoff = FIRST_BACKOFF_MS;
    this.#check(client);
    this.#options.signals.setHeard(true);
  }

  #check(client: pg.Client): void {
    this.#timer = setTimeout(async () => {
      try {
        await client.query('SELECT');
        if (client !== this.#client) return;
        // Servers of a former release notify of less.
        this.#options.signals.wakeAll();
        this.#check(client);
      } catch {
        this.#drop(client);
      }
    }, CHECK_MS).unref();
  }

  #again(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#open(), this.#backoff).unref();
    this.#backoff = Math.min(2 * this.#backoff, LONGEST_BACKOFF_MS);
  }

  /** Lets go of a connection; `undefined` of the one that there is, for good. */
  #drop(client: pg.Client | undefined): void {
    if (client && client !== this.#client) return;
    this.#client = undefined;
    this.#options.signals.setHeard(false);
    this.#incomplete.clear();
    for (const { done } of this.#waiting.splice(0)) done(false);
    if (!client) return;
    clearTimeout(this.#timer);
    client.end().catch(() => {});
    this.#again();
  }

  /** Sends notes, one statement at a time. The next statement contains all notes that arrived in between. */
  async #sendAll(client: pg.Client): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      while (client === this.#client && this.#waiting.length > 0) {
        const notes = this.#waiting.splice(0);
        const parts = notes.flatMap((note) => note.parts);
        const sent = await client
          .query('SELECT pg_notify($1, part) FROM unnest($2::text[]) AS part', [CHANNEL, parts])
          .then(
            () => true,
            () => false,
          );
        for (const { done } of notes) done(sent);
        if (!sent) this.#drop(client);
      }
    } finally {
      this.#sending = false;
    }
  }

  #take(payload: string): void {
    const part = buildPart(payload);
    if (!part || part.server === this.#options.server) return;
    const { id, count, text } = part;
    if (count === 1) return this.#hear(text);
    const texts = this.#incomplete.get(id) ?? [];
    this.#incomplete.delete(id);
    texts.push(text);
    if (texts.length === count) return this.#hear(texts.join(''));
    this.#incomplete.set(id, texts);
    if (this.#incomplete.size > MAX_INCOMPLETE)
      this.#incomplete.delete(this.#incomplete.keys().next().value!);
  }

  #hear(text: string): void {
    let note: unknown;
    try {
      note = JSON.parse(text);
    } catch {
      return;
    }
    this.#options.heard(note);
  }
}

/** Each part as `server number count part`; a transaction's notifications arrive in their order. */
function readParts(note: unknown, server: string, number: number): string[] {
  const text = JSON.stringify(note).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const count = Math.ceil(text.length / PART_SIZE);
  return Array.from(
    { length: count },
    (_, i) =>
      `${server} ${number}-${process.pid} ${count} ${i}\n${text.slice(i * PART_SIZE, (i + 1) * PART_SIZE)}`,
  );
}

function buildPart(payload: string): { server: string; id: string; count: number; text: string } | undefined {
  const end = payload.indexOf('\n');
  const [server, number, count] = payload.slice(0, end).split(' ');
  if (end < 0 || !server || !number) return undefined;
  return { server, id: `${server} ${number}`, count: Number(count), text: payload.slice(end + 1) };
}
