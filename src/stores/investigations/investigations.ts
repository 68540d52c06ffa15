import { type Selectable, sql } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type {
  InvestigationLinkTable,
  InvestigationPinTable,
  InvestigationTable,
} from '../schema/investigation-tables.js';
import { getVocabulary } from '../schema/vocabulary.js';

export type InvestigationRow = Selectable<InvestigationTable>;
export type PinRow = Selectable<InvestigationPinTable>;
export type LinkRow = Selectable<InvestigationLinkTable>;
export type NewPin = Omit<PinRow, 'id' | 'investigation_id' | 'created_at'>;
export type NewLink = Omit<LinkRow, 'id' | 'investigation_id' | 'created_at'>;

/** An investigation with its pins and links, oldest first. */
export interface Investigation {
  readonly row: InvestigationRow;
  readonly pins: readonly PinRow[];
  readonly links: readonly LinkRow[];
}

export interface InvestigationSummary extends InvestigationRow {
  readonly pin_count: number;
  readonly link_count: number;
}

/** Selection of investigations. Absent members do not restrict it. */
export interface InvestigationQuery {
  readonly status?: string | undefined;
  readonly titleContains?: string | undefined;
  readonly createdBy?: string | undefined;
  /** Only those with smaller ids. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** Why a change was refused: there are too many entries, or the investigation is closed. */
export type InvestigationRefusal = 'full' | 'closed';

type EntryTable = 'investigation_pins' | 'investigation_links';

/** Investigations. Each change returns the whole investigation, or undefined if there is none. */
export class InvestigationStore {
  constructor(private readonly db: StateDb) {}

  /** Newest first. */
  async list(query: InvestigationQuery): Promise<InvestigationSummary[]> {
    let rows = this.db.selectFrom('investigations').selectAll();
    if (query.status !== undefined) rows = rows.where('status', '=', query.status);
    if (query.createdBy !== undefined) rows = rows.where('created_by', '=', query.createdBy);
    if (query.before !== undefined) rows = rows.where('id', '<', query.before);
    if (query.titleContains !== undefined) {
      const pattern = `%${query.titleContains.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
      rows = rows.where(sql<boolean>`lower(title) LIKE ${pattern} ESCAPE '\\'`);
    }
    return rows
      .select((e) => [
        e
          .selectFrom('investigation_pins')
          .whereRef('investigation_id', '=', 'investigations.id')
          .select((count) => count.fn.countAll<number>().as('n'))
          .$asScalar()
          .$notNull()
          .as('pin_count'),
        e
          .selectFrom('investigation_links')
          .whereRef('investigation_id', '=', 'investigations.id')
          .select((count) => count.fn.countAll<number>().as('n'))
          .$asScalar()
          .$notNull()
          .as('link_count'),
      ])
      .orderBy('id', 'desc')
      .limit(query.limit)
      .execute();
  }

  get(id: number): Promise<Investigation | undefined> {
    return read(this.db, id);
  }

  /** Undefined if there are already `most`. */
  add(
    about: Pick<InvestigationRow, 'title' | 'summary' | 'created_by'>,
    most: number,
  ): Promise<Investigation | undefined> {
    return runInTransaction(this.db, async (trx) => {
      const { n } = await trx
        .selectFrom('investigations')
        .select((e) => e.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      if (n >= most) return undefined;
      const now = Date.now();
      const { id } = await trx
        .insertInto('investigations')
        .values({ ...about, status: 'open', created_at: now, updated_at: now })
        .returning('id')
        .executeTakeFirstOrThrow();
      auditResource(id, { title: about.title });
      return read(trx, id);
    });
  }

  change(
    id: number,
    to: Partial<Pick<InvestigationRow, 'title' | 'summary' | 'status'>>,
  ): Promise<Investigation | InvestigationRefusal | undefined> {
    return this.#edit(id, async (trx, { status }): Promise<InvestigationRefusal | undefined> => {
      const isReopened = to.status === 'open';
      if (status === 'closed' && !isReopened && (to.title !== undefined || to.summary !== undefined))
        return 'closed';
      if (Object.keys(to).length > 0)
        await trx.updateTable('investigations').set(to).where('id', '=', id).execute();
      return undefined;
    });
  }

  /** A pinned event is not pinned again. */
  pin(id: number, pin: NewPin, most: number): Promise<Investigation | InvestigationRefusal | undefined> {
    return this.#append(id, 'investigation_pins', most, (trx) =>
      trx
        .insertInto('investigation_pins')
        .values({ ...pin, investigation_id: id, created_at: Date.now() })
        .onConflict((c) => c.columns(['investigation_id', 'event_kind', 'event_ref']).doNothing())
        .execute(),
    );
  }

  /** A linked resource is not linked again. */
  link(id: number, link: NewLink, most: number): Promise<Investigation | InvestigationRefusal | undefined> {
    return this.#append(id, 'investigation_links', most, (trx) =>
      trx
        .insertInto('investigation_links')
        .values({ ...link, investigation_id: id, created_at: Date.now() })
        .onConflict((c) => c.columns(['investigation_id', 'resource_kind', 'resource_id']).doNothing())
        .execute(),
    );
  }

  #append(id: number, table: EntryTable, most: number, insert: (trx: StateDb) => Promise<unknown>) {
    return this.#edit(id, async (trx, { status }): Promise<InvestigationRefusal | undefined> => {
      if (status === 'closed') return 'closed';
      const { n } = await trx
        .selectFrom(table)
        .select((e) => e.fn.countAll<number>().as('n'))
        .where('investigation_id', '=', id)
        .executeTakeFirstOrThrow();
      if (n >= most) return 'full';
      await insert(trx);
      return undefined;
    });
  }

  /** Returns `missing` if the pin does not exist. */
  unpin(id: number, pinId: number): Promise<Investigation | InvestigationRefusal | 'missing' | undefined> {
    return this.#remove(id, 'investigation_pins', pinId);
  }

  /** Returns `missing` if the link does not exist. */
  unlink(id: number, linkId: number): Promise<Investigation | InvestigationRefusal | 'missing' | undefined> {
    return this.#remove(id, 'investigation_links', linkId);
  }

  #remove(id: number, table: EntryTable, entry: number) {
    return this.#edit(id, async (trx, { status }): Promise<InvestigationRefusal | 'missing' | undefined> => {
      if (status === 'closed') return 'closed';
      const { numDeletedRows } = await trx
        .deleteFrom(table)
        .where('id', '=', entry)
        .where('investigation_id', '=', id)
        .executeTakeFirst();
      return numDeletedRows === 0n ? 'missing' : undefined;
    });
  }

  /** Changes an investigation while no other transaction does. */
  #edit<R extends string>(
    id: number,
    work: (trx: StateDb, row: InvestigationRow) => Promise<R | undefined>,
  ): Promise<Investigation | R | undefined> {
    return runInTransaction(this.db, async (trx) => {
      const query = trx.selectFrom('investigations').selectAll().where('id', '=', id);
      const row = await getVocabulary(trx).forUpdate(query).executeTakeFirst();
      if (!row) return undefined;
      const refusal = await work(trx, row);
      if (refusal !== undefined) return refusal;
      await trx.updateTable('investigations').set({ updated_at: Date.now() }).where('id', '=', id).execute();
      return read(trx, id);
    });
  }
}

async function read(db: StateDb, id: number): Promise<Investigation | undefined> {
  const row = await db.selectFrom('investigations').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) return undefined;
  const [pins, links] = [
    await db
      .selectFrom('investigation_pins')
      .selectAll()
      .where('investigation_id', '=', id)
      .orderBy('id')
      .execute(),
    await db
      .selectFrom('investigation_links')
      .selectAll()
      .where('investigation_id', '=', id)
      .orderBy('id')
      .execute(),
  ];
  return { row, pins, links };
}
