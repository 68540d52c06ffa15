import { randomUUID } from 'node:crypto';
import type { ExpressionBuilder, Selectable } from 'kysely';
import { LIMITS } from '../../core/kit/limits.js';
import { auditResource } from '../audit/audit-scope.js';
import type { StateDb } from '../schema/database.js';
import type { AttachmentTable, StateTables } from '../schema/schema.js';
import { acquireLock } from '../schema/vocabulary.js';

/** A file of a feature: its properties, and the location of its bytes. */
export interface Attachment {
  readonly id: number;
  /** Id of the collection of its feature. */
  readonly collection: string;
  readonly featureId: string;
  readonly globalId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  readonly keywords: string;
  /** Key of its bytes in the storage. */
  readonly contentKey: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type NewAttachment = Pick<
  Attachment,
  'collection' | 'featureId' | 'name' | 'mediaType' | 'size' | 'keywords' | 'contentKey'
> & {
  readonly createdBy: string;
  /** Origin in an import. The same origin is attached only once. */
  readonly origin?: string;
  /** Name of the file with the feature. Undefined if unknown. */
  readonly store?: string | undefined;
};

/** A collection, and the file that it is read from now: attachments of features of another file are not there. */
export interface AttachedTo {
  readonly collection: string;
  readonly store: string | undefined;
}

export type AttachmentChange = Partial<
  Pick<Attachment, 'name' | 'mediaType' | 'size' | 'keywords' | 'contentKey'>
>;

/** Bytes in a storage. */
export interface Content {
  readonly digest: string;
  readonly size: number;
  /** Name of the data folder if the servers of a state have separate storages; else ''. */
  readonly folder: string;
}

/** Query for attachments, in the order of their ids. */
export interface AttachmentQuery extends AttachedTo {
  /** Ids of features. Default: all features. */
  readonly featureIds?: readonly string[];
  /** Id after which the attachments start. */
  readonly after?: number;
  readonly limit: number;
}

/** Ids in one statement. */
const IDS = 500;

/**
 * Attachments of features, and the locations of their bytes. A location is recorded before its bytes are stored, and
 * the row of the attachment uses it afterwards. Bytes without a row can therefore be removed.
 */
export class AttachmentStore {
  constructor(private readonly db: StateDb) {}

  /**
   * The key for storing bytes, or of bytes that are already stored. Bytes without an attachment are kept for a while.
   */
  place({ digest, size, folder }: Content): Promise<string> {
    return this.db.transaction().execute(async (trx) => {
      await acquireLock(trx, 'attachment content', digest, folder);
      const now = Date.now();
      const row = await trx
        .updateTable('attachment_contents')
        .set({ used_at: now })
        .where('digest', '=', digest)
        .where('folder', '=', folder)
        .returning('key')
        .executeTakeFirst();
      if (row) return row.key;
      // Never a key that was used before: it may be about to be removed.
      const key = `attachments/${digest}-${randomUUID().slice(0, 8)}`;
      await trx
        .insertInto('attachment_contents')
        .values({ key, digest, size, folder, used_at: now })
        .execute();
      return key;
    });
  }

  /**
   * Adds an attachment. Undefined if the feature has its maximum number. `gone` if the bytes have been removed. If
   * its origin was attached before, the existing attachment.
   */
  add(attachment: NewAttachment): Promise<Attachment | 'gone' | undefined> {
    const { collection, featureId, origin } = attachment;
    return this.db.transaction().execute(async (trx) => {
      await acquireLock(trx, 'attachments', collection, featureId);
      const before = origin === undefined ? undefined : await ofOrigin(trx, collection, origin);
      if (before) return before;
      if (!(await use(trx, attachment.contentKey))) return 'gone';
      if ((await loadCount(trx, attachment)) >= LIMITS.featureAttachments) return undefined;
      const now = Date.now();
      const row = await trx
        .insertInto('attachments')
        .values({
          collection,
          feature_id: featureId,
          global_id: `{${randomUUID().toUpperCase()}}`,
          name: attachment.name,
          media_type: attachment.mediaType,
          size: attachment.size,
          keywords: attachment.keywords,
          content_key: attachment.contentKey,
          origin: origin ?? null,
          store: attachment.store ?? null,
          created_by: attachment.createdBy,
          created_at: now,
          updated_at: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      auditResource(row.id, { collection, featureId, name: row.name, size: row.size });
      return readAttachment(row);
    });
  }

  /** Changes an attachment, and returns it. Undefined if it does not exist; `gone` if its new content does not exist. */
  change(
    { collection, featureId, id }: Pick<Attachment, 'collection' | 'featureId' | 'id'>,
    change: AttachmentChange,
  ): Promise<Attachment | 'gone' | undefined> {
    return this.db.transaction().execute(async (trx) => {
      if (change.contentKey !== undefined && !(await use(trx, change.contentKey))) return 'gone';
      const row = await trx
        .updateTable('attachments')
        .set({
          ...(change.name === undefined ? {} : { name: change.name }),
          ...(change.mediaType === undefined ? {} : { media_type: change.mediaType }),
          ...(change.size === undefined ? {} : { size: change.size }),
          ...(change.keywords === undefined ? {} : { keywords: change.keywords }),
          ...(change.contentKey === undefined ? {} : { content_key: change.contentKey }),
          updated_at: Date.now(),
        })
        .where('collection', '=', collection)
        .where('feature_id', '=', featureId)
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (row) auditResource(row.id, { collection, featureId });
      return row && readAttachment(row);
    });
  }

  async list({ featureIds, after, limit, ...place }: AttachmentQuery): Promise<Attachment[]> {
    let query = this.db.selectFrom('attachments').selectAll().where(isIn(place));
    if (featureIds) query = query.where('feature_id', 'in', featureIds);
    if (after !== undefined) query = query.where('id', '>', after);
    return (await query.orderBy('id').limit(limit).execute()).map(readAttachment);
  }

  async get(place: AttachedTo, featureId: string, id: number): Promise<Attachment | undefined> {
    const row = await this.db
      .selectFrom('attachments')
      .selectAll()
      .where(isIn(place))
      .where('feature_id', '=', featureId)
      .where('id', '=', id)
      .executeTakeFirst();
    return row && readAttachment(row);
  }

  async hasOrigin(collection: string, origin: string): Promise<boolean> {
    return (await ofOrigin(this.db, collection, origin)) !== undefined;
  }

  /** The folder with the bytes, '' for the common storage. Undefined if the bytes have been removed. */
  async folderOf(contentKey: string): Promise<string | undefined> {
    const row = await this.db
      .selectFrom('attachment_contents')
      .select('folder')
      .where('key', '=', contentKey)
      .executeTakeFirst();
    return row?.folder;
  }

  /** Removes attachments. Resolves with the ids of the existing ones. */
  async remove(place: AttachedTo, featureId: string, ids: readonly number[]): Promise<number[]> {
    const rows = await this.db
      .deleteFrom('attachments')
      .where(isIn(place))
      .where('feature_id', '=', featureId)
      .where('id', 'in', ids)
      .returning('id')
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Removes all attachments of features. */
  async forget(place: AttachedTo, featureIds: readonly string[]): Promise<void> {
    for (let from = 0; from < featureIds.length; from += IDS)
      await this.db
        .deleteFrom('attachments')
        .where(isIn(place))
        .where('feature_id', 'in', featureIds.slice(from, from + IDS))
        .execute();
  }

  /** Removes all attachments of a collection, except those of an import job. */
  async forgetAll(collection: string, job?: string): Promise<void> {
    const all = this.db.deleteFrom('attachments').where('collection', '=', collection);
    const others =
      job === undefined
        ? all
        : all.where((eb) => eb.or([eb('origin', 'is', null), eb('origin', 'not like', `${job}:%`)]));
    await others.execute();
  }

  async collections(): Promise<string[]> {
    const rows = await this.db.selectFrom('attachments').select('collection').distinct().execute();
    return rows.map(({ collection }) => collection);
  }

  /** Features of a collection that have attachments, in the order of their ids as texts, behind one of them. */
  async features(place: AttachedTo, after: string, limit: number): Promise<string[]> {
    const rows = await this.db
      .selectFrom('attachments')
      .select('feature_id')
      .distinct()
      .where(isIn(place))
      .where('feature_id', '>', after)
      .orderBy('feature_id')
      .limit(limit)
      .execute();
    return rows.map(({ feature_id }) => feature_id);
  }

  /**
   * Marks attachments that belong to another file than the collection's present one. Removes attachments that were
   * marked before a time. If their file has returned, they are unmarked.
   */
  async setAside({ collection, store }: AttachedTo, before: number): Promise<void> {
    const all = this.db.updateTable('attachments').where('collection', '=', collection);
    if (store !== undefined) {
      await all.set({ store }).where('store', 'is', null).execute();
      await all
        .set({ aside_at: null })
        .where('store', '=', store)
        .where('aside_at', 'is not', null)
        .execute();
    }
    const others = all.set({ aside_at: Date.now() }).where('aside_at', 'is', null);
    await (store === undefined
      ? others.where('store', 'is not', null)
      : others.where('store', '!=', store)
    ).execute();
    await this.db
      .deleteFrom('attachments')
      .where('collection', '=', collection)
      .where('aside_at', '<', before)
      .execute();
  }

  /**
   * Removes records of bytes without an attachment that no request has used since. The caller must remove their
   * bytes.
   */
  async takeUnused(folder: string, before: number): Promise<string[]> {
    const rows = await this.db
      .deleteFrom('attachment_contents')
      .where('folder', '=', folder)
      .where('used_at', '<', before)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('attachments')
              .select('attachments.id')
              .whereRef('attachments.content_key', '=', 'attachment_contents.key'),
          ),
        ),
      )
      .returning('key')
      .execute();
    return rows.map(({ key }) => key);
  }

  /** Keys among these that have no record. */
  async strays(keys: readonly string[]): Promise<string[]> {
    const places = new Set<string>();
    for (let from = 0; from < keys.length; from += IDS) {
      const rows = await this.db
        .selectFrom('attachment_contents')
        .select('key')
        .where('key', 'in', keys.slice(from, from + IDS))
        .execute();
      for (const { key } of rows) places.add(key);
    }
    return keys.filter((key) => !places.has(key));
  }
}

/** Marks bytes as used. Returns false if they have been removed. */
async function use(db: StateDb, key: string): Promise<boolean> {
  const row = await db
    .updateTable('attachment_contents')
    .set({ used_at: Date.now() })
    .where('key', '=', key)
    .returning('key')
    .executeTakeFirst();
  return row !== undefined;
}

/** Attachments without a file belong to the collection's present file. */
function isIn({ collection, store }: AttachedTo) {
  return (eb: ExpressionBuilder<StateTables, 'attachments'>) => {
    const isUnknown = eb('store', 'is', null);
    const isSame = store === undefined ? isUnknown : eb.or([isUnknown, eb('store', '=', store)]);
    return eb.and([eb('collection', '=', collection), isSame]);
  };
}

async function loadCount(
  db: StateDb,
  { collection, store, featureId }: Pick<NewAttachment, 'collection' | 'store' | 'featureId'>,
): Promise<number> {
  const row = await db
    .selectFrom('attachments')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(isIn({ collection, store }))
    .where('feature_id', '=', featureId)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

async function ofOrigin(db: StateDb, collection: string, origin: string): Promise<Attachment | undefined> {
  const row = await db
    .selectFrom('attachments')
    .selectAll()
    .where('collection', '=', collection)
    .where('origin', '=', origin)
    .executeTakeFirst();
  return row && readAttachment(row);
}

function readAttachment(row: Selectable<AttachmentTable>): Attachment {
  return {
    id: row.id,
    collection: row.collection,
    featureId: row.feature_id,
    globalId: row.global_id,
    name: row.name,
    mediaType: row.media_type,
    size: row.size,
    keywords: row.keywords,
    contentKey: row.content_key,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
