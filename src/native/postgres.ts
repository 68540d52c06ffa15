/**
 * PostgreSQL through libpq, on a thread of the connection's own: JavaScript never waits. Rows are read in binary as
 * they arrive, and pages and tiles are written from them without becoming JavaScript values.
 */
import type { PageKey } from '../core/features/features.js';
import { type StatementRecorder, statements } from '../core/observability/statements.js';
import { nativeAddon } from './built.js';
import type { LayerOptions } from './index.js';
import type { SceneTileOptions } from './scenes.js';

/** A value of a row: timestamps and dates as ISO 8601 text, numeric and uuid as text, unknown types as bytes. */
export type PgValue = string | number | bigint | boolean | Uint8Array | null;
export type PgParams = readonly (string | null)[];

/** Error of PostgreSQL or of the connection to it. */
export interface PgError extends Error {
  /** SQLSTATE: 08001 without a connection, 08006 for a broken connection, 57014 after a cancellation. */
  code: string;
  /** Whether the connection can be used further. */
  alive: boolean;
}

/** One text that the rows of a page are written into. */
export interface PageOutput {
  format: 'geojson' | 'csv' | 'gml' | 'esri-json' | 'esri-pbf';
  /** Options of the format's writer, as JSON text. */
  options: string;
  /** Column of each property, counted from 0. */
  columns: number[];
  /** Whether geometries are written. */
  geometry: boolean;
}

export interface RowPageOptions {
  outputs: PageOutput[];
  /** Columns of the page keys: text. */
  keys: number[];
  /** Maximum number of rows to write. One more row shows that another page follows. */
  limit: number;
  /** Length of the first output after which writing stops with the current feature. */
  maxBytes?: number;
  /** The rows come last one first; they are written first one first. */
  reverse?: boolean;
}

export interface PgPage {
  outputs: Uint8Array[];
  returned: number;
  more: boolean;
  first?: PageKey;
  last?: PageKey;
}

export interface PgTile {
  /** Length 0 without features. */
  tile: Uint8Array;
  features: number;
  /** Number of features that were omitted because the layer would be too large. */
  dropped: number;
  /** Amount of data that was read for the layer: bytes of geometries, and 256 per row. */
  work: number;
}

interface NativeConnection {
  connect(url: string, timeoutMs: number): Promise<void>;
  query(sql: string, params: PgParams): Promise<PgValue[][]>;
  open(sql: string, params: PgParams): Promise<void>;
  fetch(maxRows: number): Promise<{ rows: PgValue[][]; done: boolean }>;
  finish(): Promise<void>;
  page(sql: string, params: PgParams, options: string): Promise<PgPage>;
  tile(sql: string, params: PgParams, options: string): Promise<PgTile>;
  sceneTile(sql: string, params: PgParams, options: string): Promise<Uint8Array>;
  notified(timeoutMs: number): Promise<boolean>;
  cancel(): void;
  close(): void;
  readonly idle: boolean;
  readonly reused: boolean;
  readonly prepared: number;
}

/**
 * PostgreSQL connection. Only one call at a time. Every call rejects with a `PgError`. Rows of features start with id
 * and geometry (EWKB), followed by values and page keys.
 */
export class PostgresConnection {
  readonly #native: NativeConnection;
  readonly #recorder: StatementRecorder;

  constructor(recorder = statements) {
    this.#recorder = recorder;
    const { PostgresConnection: Native } = nativeAddon() as {
      PostgresConnection: new () => NativeConnection;
    };
    this.#native = new Native();
  }

  /** Connects like libpq: missing parts of the URL come from the environment, the password file, the service. */
  connect(url: string, timeoutMs: number): Promise<void> {
    return this.#native.connect(url, timeoutMs);
  }

  /** Returns all rows of a small result (at most 64 MiB). */
  query(sql: string, params: PgParams = []): Promise<PgValue[][]> {
    return this.#timed(
      sql,
      () => this.#native.query(sql, params),
      (rows) => rows.length,
    );
  }

  /** Returns a page of features. Memory contains the written output, not the rows that were read. */
  page(sql: string, params: PgParams, options: RowPageOptions): Promise<PgPage> {
    const text = JSON.stringify(options);
    return this.#timed(
      sql,
      () => this.#native.page(sql, params, text),
      ({ returned }) => returned,
    );
  }

  /** One layer of a vector tile. */
  tile(sql: string, params: PgParams, options: LayerOptions): Promise<PgTile> {
    const text = JSON.stringify(options);
    return this.#timed(
      sql,
      () => this.#native.tile(sql, params, text),
      ({ features }) => features,
    );
  }

  /** A tile of a 3D scene, as binary glTF. */
  sceneTile(sql: string, params: PgParams, options: SceneTileOptions): Promise<Uint8Array> {
    const text = JSON.stringify(options);
    return this.#timed(
      sql,
      () => this.#native.sceneTile(sql, params, text),
      () => undefined,
    );
  }

  /** Rows in batches; the statement ends when the consumer stops. */
  async *rows(sql: string, params: PgParams, batch: number): AsyncGenerator<PgValue[][]> {
    const statement = this.#recorder.find('postgres', sql);
    let ms = 0;
    let rows = 0;
    let error: unknown;
    const timed = async <T>(work: () => Promise<T>): Promise<T> => {
      const started = performance.now();
      return work().finally(() => {
        ms += performance.now() - started;
      });
    };
    let done = false;
    try {
      await timed(() => this.#native.open(sql, params));
      try {
        while (!done) {
          const next = await timed(() => this.#native.fetch(batch));
          done = next.done;
          rows += next.rows.length;
          if (next.rows.length > 0) yield next.rows;
        }
      } finally {
        if (!done) await this.#native.finish();
      }
    } catch (failure) {
      error = failure;
      throw failure;
    } finally {
      this.#recorder.ended(statement, ms, { rows, error, reused: this.#native.reused });
    }
  }

  #timed<T>(sql: string, work: () => Promise<T>, countRows: (result: T) => number | undefined): Promise<T> {
    return this.#recorder.run('postgres', sql, work, (result) => ({
      rows: result === undefined ? undefined : countRows(result),
      reused: this.#native.reused,
    }));
  }

  /** Waits for a notification of a channel that the session listens to; false when none came in time. */
  notified(timeoutMs: number): Promise<boolean> {
    return this.#native.notified(timeoutMs);
  }

  /** Number of statements that are prepared now. */
  get prepared(): number {
    return this.#native.prepared;
  }

  /** Whether no call runs and no transaction is open. */
  get idle(): boolean {
    return this.#native.idle;
  }

  /** Ends the call that runs, which rejects with 57014. */
  cancel(): void {
    this.#native.cancel();
  }

  /** Ends the call that runs and the connection. */
  close(): void {
    this.#native.close();
  }
}

export function isPgError(error: unknown): error is PgError {
  return error instanceof Error && typeof (error as Partial<PgError>).code === 'string' && 'alive' in error;
}
