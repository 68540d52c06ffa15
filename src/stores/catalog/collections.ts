import { sql } from 'kysely';
import { runInTransaction, type StateDb } from '../schema/database.js';
import { acquireLock } from '../schema/vocabulary.js';

/** A published source. `definition` is JSON data. */
export interface StoredCollection {
  slug: string;
  kind: string;
  definition: unknown;
  sourcePath: string | null;
  createdAt: number;
  updatedAt: number;
}

/** Published sources, with the integer ids of their slugs. */
export class CollectionStore {
  constructor(readonly db: StateDb) {}

  /** The integer of a slug, which never changes. Created on first use. `holder` is the present source of the slug. */
  async idOf(slug: string, holder?: string): Promise<number> {
    const id = await this.#numberOf(slug);
    if (holder !== undefined) await this.#hold(slug, holder);
    return id;
  }

  /** Slugs by the sources that have them. */
  async holders(): Promise<Map<string, string>> {
    const rows = await this.db
      .selectFrom('collection_ids')
      .select(['slug', 'holder'])
      .orderBy('id')
      .execute();
    return new Map(rows.flatMap(({ slug, holder }) => (holder === null ? [] : [[holder, slug]])));
  }

  /** Slugs and integers of these sources. Default: of all sources. */
  async findNames(holders?: readonly string[]): Promise<Map<string, { id: string; layerId: number }>> {
    let rows = this.db.selectFrom('collection_ids').select(['slug', 'id', 'holder']).orderBy('id');
    if (holders) rows = rows.where('holder', 'in', holders);
    return new Map(
      (await rows.execute()).flatMap(({ slug, id, holder }) =>
        holder === null ? [] : [[holder, { id: slug, layerId: id }]],
      ),
    );
  }

  async #hold(slug: string, holder: string): Promise<void> {
    await this.db
      .updateTable('collection_ids')
      .set({ holder })
      .where('slug', '=', slug)
      .where((w) => w.or([w('holder', 'is', null), w('holder', '<>', holder)]))
      .execute();
  }

  async #numberOf(slug: string): Promise<number> {
    const row = await this.find(slug);
    if (row !== undefined) return row;
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'collection_ids');
      // If another process was faster, no row is inserted, and its row is read.
      await trx
        .insertInto('collection_ids')
        .values({ id: sql<number>`(SELECT coalesce(max(id), 0) + 1 FROM collection_ids)`, slug })
        .onConflict((c) => c.column('slug').doNothing())
        .execute();
      return (await new CollectionStore(trx).find(slug))!;
    });
  }

  /** The integer of a slug that has one. */
  async find(slug: string): Promise<number | undefined> {
    const row = await this.db
      .selectFrom('collection_ids')
      .select('id')
      .where('slug', '=', slug)
      .executeTakeFirst();
    return row?.id;
  }

  /** The slug of an integer id. */
  async slugOf(id: number): Promise<string | undefined> {
    const row = await this.db
      .selectFrom('collection_ids')
      .select('slug')
      .where('id', '=', id)
      .executeTakeFirst();
    return row?.slug;
  }

  /** Assigns a free integer to a free slug. Returns false if either is taken. */
  async take(id: number, slug: string): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'collection_ids');
      const { numInsertedOrUpdatedRows } = await trx
        .insertInto('collection_ids')
        .values({ id, slug })
        .onConflict((c) => c.doNothing())
        .executeTakeFirstOrThrow();
      return (numInsertedOrUpdatedRows ?? 0n) > 0n;
    });
  }

  async get(slug: string): Promise<StoredCollection | undefined> {
    const row = await this.db
      .selectFrom('collections')
      .selectAll()
      .where('slug', '=', slug)
      .executeTakeFirst();
    return row && stored(row);
  }

  async list(): Promise<StoredCollection[]> {
    const rows = await this.db.selectFrom('collections').selectAll().orderBy('slug').execute();
    return rows.map(stored);
  }

  /** Adds or replaces a collection. */
  async put(collection: {
    slug: string;
    kind: string;
    definition: unknown;
    sourcePath?: string;
  }): Promise<void> {
    const now = Date.now();
    const changed = {
      kind: collection.kind,
      definition_json: JSON.stringify(collection.definition),
      source_path: collection.sourcePath ?? null,
      updated_at: now,
    };
    await this.db
      .insertInto('collections')
      .values({ slug: collection.slug, created_at: now, ...changed })
      .onConflict((c) => c.column('slug').doUpdateSet(changed))
      .execute();
  }

  /** Removes a collection. Returns false if it does not exist. Its integer stays reserved. */
  async remove(slug: string): Promise<boolean> {
    const result = await this.db.deleteFrom('collections').where('slug', '=', slug).executeTakeFirst();
    return result.numDeletedRows > 0n;
  }
}

function stored(row: {
  slug: string;
  kind: string;
  definition_json: string;
  source_path: string | null;
  created_at: number;
  updated_at: number;
}): StoredCollection {
  return {
    slug: row.slug,
    kind: row.kind,
    definition: JSON.parse(row.definition_json),
    sourcePath: row.source_path,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
