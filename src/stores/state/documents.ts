import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { decodeStoredJson, encodeStoredJson } from '../../core/values/json.js';
import { StateError } from '../../workers/state/link.js';
import { auditResource } from '../audit/audit-scope.js';
import { announce, type Topic } from '../database/announcements.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { DocumentTable } from '../schema/schema.js';
import { acquireLock, getVocabulary } from '../schema/vocabulary.js';

/** A JSON document of some kind, with what is needed to change it safely. */
export interface StoredDocument<T = unknown> {
  id: string;
  /** Counts changes from 1. */
  version: number;
  /** Changes with every change; without quotes. */
  etag: string;
  body: T;
  createdAt: number;
  createdBy: string | null;
  updatedAt: number;
  updatedBy: string | null;
}

/** Versioned JSON documents, for resources that need no separate table. */
export class DocumentStore {
  constructor(
    readonly db: StateDb,
    private readonly topic?: Topic,
  ) {}

  /** The same documents, with an announcement of each change. */
  announcing(topic: Topic): DocumentStore {
    return new DocumentStore(this.db, topic);
  }

  async list<T>(kind: string): Promise<StoredDocument<T>[]> {
    const rows = await this.db
      .selectFrom('documents')
      .selectAll()
      .where('kind', '=', kind)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return rows.map((row) => stored<T>(row));
  }

  /** A page of documents, newest first, that starts after the document `after`. */
  async page<T>(
    kind: string,
    { limit, after }: { limit: number; after?: Pick<StoredDocument, 'id' | 'createdAt'> | undefined },
  ): Promise<StoredDocument<T>[]> {
    const rows = await this.db
      .selectFrom('documents')
      .selectAll()
      .where('kind', '=', kind)
      .$if(after !== undefined, (q) =>
        q.where((w) =>
          w.or([
            w('created_at', '<', after!.createdAt),
            w.and([w('created_at', '=', after!.createdAt), w('id', '<', after!.id)]),
          ]),
        ),
      )
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
    return rows.map((row) => stored<T>(row));
  }

  /** Reads documents by their ids, in any order. Missing ones are omitted. */
  async find<T>(kind: string, ids: readonly string[]): Promise<StoredDocument<T>[]> {
    // Empty lists are not valid SQL.
    const rows = await this.db
      .selectFrom('documents')
      .selectAll()
      .where('kind', '=', kind)
      .where('id', 'in', ['', ...ids])
      .execute();
    return rows.map((row) => stored<T>(row));
  }

  async get<T>(kind: string, id: string): Promise<StoredDocument<T> | undefined> {
    const row = await this.#row(kind, id).executeTakeFirst();
    return row && stored<T>(row);
  }

  #row(kind: string, id: string) {
    return this.db.selectFrom('documents').selectAll().where('kind', '=', kind).where('id', '=', id);
  }

  /** Creates a document. Throws `conflict` if the id is taken. */
  async create<T>(kind: string, id: string, body: T, by: string): Promise<StoredDocument<T>> {
    auditResource(id);
    try {
      return await this.#changing((store) => store.#insert(kind, id, body, by));
    } catch (error) {
      if (error instanceof StateError && error.duplicate)
        throw new ApiError('conflict', `'${id}' already exists. Choose another name, or change it with PUT.`);
      throw error;
    }
  }

  /**
   * Replaces the body with the result of `change`, in one transaction. Throws `not-found`, and `precondition-failed`
   * if `ifMatch` does not contain the current etag.
   */
  update<T>(
    kind: string,
    id: string,
    by: string,
    change: (body: T) => T,
    ifMatch?: readonly string[],
  ): Promise<StoredDocument<T>> {
    return this.#atomically((store) => store.#replace(kind, id, by, change, ifMatch));
  }

  /** Runs `work` in one transaction. No other work with the same name runs at the same time. */
  together<T>(name: readonly string[], work: (store: DocumentStore) => Promise<T>): Promise<T> {
    return this.#atomically(async (store) => {
      await acquireLock(store.db, ...name);
      return work(store);
    });
  }

  #atomically<T>(work: (store: DocumentStore) => Promise<T>): Promise<T> {
    return runInTransaction(this.db, (trx) => work(new DocumentStore(trx, this.topic)));
  }

  /** Runs one statement; where changes announce themselves, in one transaction with that. */
  #changing<T>(change: (store: DocumentStore) => Promise<T>): Promise<T> {
    return this.topic === undefined ? change(this) : this.#atomically(change);
  }

  async #announce(kind: string, id: string): Promise<void> {
    if (this.topic !== undefined) await announce(this.db, this.topic, { kind, id });
  }

  async #insert<T>(kind: string, id: string, body: T, by: string): Promise<StoredDocument<T>> {
    const now = Date.now();
    const row = await this.db
      .insertInto('documents')
      .values({
        kind,
        id,
        version: 1,
        etag: randomUUID(),
        body_json: encodeStoredJson(body),
        created_at: now,
        created_by: by,
        updated_at: now,
        updated_by: by,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await this.#announce(kind, id);
    return stored<T>(row);
  }

  async #replace<T>(
    kind: string,
    id: string,
    by: string,
    change: (body: T) => T,
    ifMatch?: readonly string[],
  ): Promise<StoredDocument<T>> {
    const row = await getVocabulary(this.db).forUpdate(this.#row(kind, id)).executeTakeFirst();
    if (!row) throw notFound(kind, id);
    if (ifMatch && !ifMatch.includes(row.etag)) throw hasChanged(id);
    const changed = await this.db
      .updateTable('documents')
      .set({
        version: row.version + 1,
        etag: randomUUID(),
        body_json: encodeStoredJson(change(decodeStoredJson(row.body_json) as T)),
        updated_at: Date.now(),
        updated_by: by,
      })
      .where('kind', '=', kind)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await this.#announce(kind, id);
    return stored<T>(changed);
  }

  /** Gives a document a new etag, for a change of data that is shown with it. Throws `not-found`. */
  async touch(kind: string, id: string): Promise<void> {
    const result = await this.db
      .updateTable('documents')
      .set({ etag: randomUUID() })
      .where('kind', '=', kind)
      .where('id', '=', id)
      .executeTakeFirst();
    if (result.numUpdatedRows === 0n) throw notFound(kind, id);
  }

  /** False when there was none. Throws `precondition-failed` when `ifMatch` is given and the current etag is not in it. */
  remove(kind: string, id: string, ifMatch?: readonly string[]): Promise<boolean> {
    return this.#changing((store) => store.#delete(kind, id, ifMatch));
  }

  async #delete(kind: string, id: string, ifMatch: readonly string[] | undefined): Promise<boolean> {
    const result = await this.db
      .deleteFrom('documents')
      .where('kind', '=', kind)
      .where('id', '=', id)
      // No document has an empty etag, which avoids an empty list. Empty lists are not valid SQL.
      .$if(ifMatch !== undefined, (q) => q.where('etag', 'in', ['', ...ifMatch!]))
      .executeTakeFirst();
    if (result.numDeletedRows === 0n) {
      if (ifMatch !== undefined && (await this.get(kind, id))) throw hasChanged(id);
      return false;
    }
    await this.#announce(kind, id);
    return true;
  }

  /** Removes documents that were not changed since a time, in milliseconds since 1970. Resolves with their ids. */
  removeOld(kind: string, time: number): Promise<string[]> {
    return this.#changing(async (store) => {
      const rows = await store.db
        .deleteFrom('documents')
        .where('kind', '=', kind)
        .where('updated_at', '<', time)
        .returning('id')
        .execute();
      for (const { id } of rows) await store.#announce(kind, id);
      return rows.map(({ id }) => id);
    });
  }

  /** Creates a document, or replaces these members of it. Undefined removes a member. */
  merge(kind: string, id: string, members: object, by: string): Promise<StoredDocument> {
    return this.#putting(kind, id, by, (before) => ({ ...before, ...members }));
  }

  /** Creates or replaces a document. */
  put<T extends object>(kind: string, id: string, body: T, by: string): Promise<StoredDocument<T>> {
    return this.#putting(kind, id, by, () => body);
  }

  #putting<T extends object>(
    kind: string,
    id: string,
    by: string,
    change: (before: object) => T,
  ): Promise<StoredDocument<T>> {
    return this.together(['document', kind, id], async (store) =>
      (await store.get(kind, id))
        ? store.#replace<T>(kind, id, by, change)
        : store.#insert<T>(kind, id, change({}), by),
    );
  }
}

function hasChanged(id: string): ApiError {
  return new ApiError(
    'precondition-failed',
    `'${id}' has changed since it was read. Read it again and retry.`,
  );
}

function stored<T>(row: Selectable<DocumentTable>): StoredDocument<T> {
  return {
    id: row.id,
    version: row.version,
    etag: row.etag,
    body: decodeStoredJson(row.body_json) as T,
    createdAt: row.created_at,
    createdBy: row.created_by,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  };
}
