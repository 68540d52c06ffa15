import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import { ApiError, notFound } from '../core/errors.js';
import { StateError } from '../workers/state/link.js';
import { auditResource } from './audit-scope.js';
import type { StateDb } from './database.js';
import type { DocumentTable } from './schema.js';
import { vocabularyOf } from './vocabulary.js';

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

/** Versioned JSON documents: what resources that need no table of their own are kept in. */
export class DocumentStore {
  constructor(readonly db: StateDb) {}

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

  async get<T>(kind: string, id: string): Promise<StoredDocument<T> | undefined> {
    const row = await this.#row(kind, id).executeTakeFirst();
    return row && stored<T>(row);
  }

  #row(kind: string, id: string) {
    return this.db.selectFrom('documents').selectAll().where('kind', '=', kind).where('id', '=', id);
  }

  /** Throws `conflict` when the id is taken. */
  async create<T>(kind: string, id: string, body: T, by: string): Promise<StoredDocument<T>> {
    const now = Date.now();
    auditResource(id);
    try {
      const row = await this.db
        .insertInto('documents')
        .values({
          kind,
          id,
          version: 1,
          etag: randomUUID(),
          body_json: JSON.stringify(body),
          created_at: now,
          created_by: by,
          updated_at: now,
          updated_by: by,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return stored<T>(row);
    } catch (error) {
      if (error instanceof StateError && error.duplicate)
        throw new ApiError('conflict', `'${id}' is there already.`);
      throw error;
    }
  }

  /**
   * Replaces the body by what `change` makes of it, in one transaction. Throws `not-found`, and
   * `precondition-failed` when `ifMatch` is given and is not the current etag.
   */
  update<T>(
    kind: string,
    id: string,
    by: string,
    change: (body: T) => T,
    ifMatch?: string,
  ): Promise<StoredDocument<T>> {
    return this.db.transaction().execute(async (trx) => {
      const row = await vocabularyOf(trx).forUpdate(new DocumentStore(trx).#row(kind, id)).executeTakeFirst();
      if (!row) throw notFound(kind, id);
      if (ifMatch !== undefined && ifMatch !== row.etag) {
        throw new ApiError('precondition-failed', `'${id}' has changed since it was read.`);
      }
      const body = change(JSON.parse(row.body_json) as T);
      const changed = await trx
        .updateTable('documents')
        .set({
          version: row.version + 1,
          etag: randomUUID(),
          body_json: JSON.stringify(body),
          updated_at: Date.now(),
          updated_by: by,
        })
        .where('kind', '=', kind)
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return stored<T>(changed);
    });
  }

  /** False when there was none. */
  async remove(kind: string, id: string): Promise<boolean> {
    const result = await this.db
      .deleteFrom('documents')
      .where('kind', '=', kind)
      .where('id', '=', id)
      .executeTakeFirst();
    return result.numDeletedRows > 0n;
  }
}

function stored<T>(row: Selectable<DocumentTable>): StoredDocument<T> {
  return {
    id: row.id,
    version: row.version,
    etag: row.etag,
    body: JSON.parse(row.body_json) as T,
    createdAt: row.created_at,
    createdBy: row.created_by,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  };
}
