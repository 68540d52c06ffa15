import type { Selectable } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { DiagnosticBundleTable } from '../schema/diagnostic-tables.js';
import { acquireLock } from '../schema/vocabulary.js';

export type DiagnosticBundleRow = Selectable<DiagnosticBundleTable>;

/** A page of bundles: those received at `since` or later, before the position of `before`, newest first. */
export interface DiagnosticBundleQuery {
  readonly since: number;
  readonly before?: { readonly receivedAt: number; readonly id: string } | undefined;
  readonly classification?: string | undefined;
  readonly limit: number;
}

/** Diagnostic bundles of clients. Each envelope is a row, because a bundle can have several megabytes. */
export class DiagnosticBundleStore {
  constructor(private readonly db: StateDb) {}

  /** `envelopes` gives the contents one after the other. Returns false if there are already `most` bundles. */
  add(row: DiagnosticBundleRow, envelopes: Iterable<string>, most: number): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'diagnostic-bundles');
      const { n } = await trx
        .selectFrom('diagnostic_bundles')
        .select((e) => e.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      if (n >= most) return false;
      await trx.insertInto('diagnostic_bundles').values(row).execute();
      let ordinal = 0;
      for (const content_json of envelopes) {
        await trx
          .insertInto('diagnostic_envelopes')
          .values({ bundle_id: row.id, ordinal, content_json })
          .execute();
        ordinal += 1;
      }
      const { classification, envelope_count: envelopeCount, digest } = row;
      auditResource(row.id, { classification, envelopeCount, digest });
      return true;
    });
  }

  list({ since, before, classification, limit }: DiagnosticBundleQuery): Promise<DiagnosticBundleRow[]> {
    let rows = this.db.selectFrom('diagnostic_bundles').selectAll().where('received_at', '>=', since);
    if (classification !== undefined) rows = rows.where('classification', '=', classification);
    if (before)
      rows = rows.where((e) =>
        e.or([
          e('received_at', '<', before.receivedAt),
          e.and([e('received_at', '=', before.receivedAt), e('id', '<', before.id)]),
        ]),
      );
    return rows.orderBy('received_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  }

  get(id: string, since: number): Promise<DiagnosticBundleRow | undefined> {
    return this.db
      .selectFrom('diagnostic_bundles')
      .selectAll()
      .where('id', '=', id)
      .where('received_at', '>=', since)
      .executeTakeFirst();
  }

  /** Undefined if the bundle was deleted. */
  async envelope(id: string, ordinal: number): Promise<string | undefined> {
    const row = await this.db
      .selectFrom('diagnostic_envelopes')
      .select('content_json')
      .where('bundle_id', '=', id)
      .where('ordinal', '=', ordinal)
      .executeTakeFirst();
    return row?.content_json;
  }

  /** Returns whether the bundle existed. */
  remove(id: string, since: number): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('diagnostic_bundles')
        .where('id', '=', id)
        .where('received_at', '>=', since)
        .executeTakeFirst();
      if (numDeletedRows === 0n) return false;
      await trx.deleteFrom('diagnostic_envelopes').where('bundle_id', '=', id).execute();
      auditResource(id);
      return true;
    });
  }

  /** Deletes the bundles that were received before a time. Returns their ids. */
  expire(before: number): Promise<string[]> {
    return runInTransaction(this.db, async (trx) => {
      const rows = await trx
        .selectFrom('diagnostic_bundles')
        .select('id')
        .where('received_at', '<', before)
        .execute();
      const ids = rows.map(({ id }) => id);
      if (ids.length === 0) return ids;
      await trx.deleteFrom('diagnostic_envelopes').where('bundle_id', 'in', ids).execute();
      await trx.deleteFrom('diagnostic_bundles').where('id', 'in', ids).execute();
      return ids;
    });
  }
}
