import type { Selectable } from 'kysely';
import { STYLE_LIMITS } from '../../core/styles/limits.js';
import type { StyleDocument } from '../../core/styles/model.js';
import { announce } from '../database/announcements.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { StyleTable } from '../schema/schema.js';
import { acquireLock } from '../schema/vocabulary.js';

/** Author and time of a change of a layer's style. */
export interface StyleRevision {
  /** Counts changes from 1. */
  readonly version: number;
  readonly changedBy: string | null;
  readonly changeSummary: string | null;
  /** Milliseconds since the epoch. */
  readonly revisedAt: number;
}

/** Style of a layer in one of its versions. */
export interface StoredStyle extends StyleRevision {
  readonly layerId: number;
  /** The version in which the document was set. */
  readonly documentVersion: number;
  /** Checked; null for the default style. */
  readonly document: StyleDocument | null;
  readonly drawingInfo: object | null;
  readonly popupInfo: object | null;
}

/** Members that a change sets. Missing members are unchanged. */
export type StyleChange = Partial<Pick<StoredStyle, 'document' | 'drawingInfo' | 'popupInfo'>> &
  Pick<StoredStyle, 'changedBy' | 'changeSummary'>;

/** Styles of layers in all versions that are kept. */
export class StyleStore {
  constructor(
    readonly db: StateDb,
    readonly limit: number = STYLE_LIMITS.styleVersions,
  ) {}

  /** The active version. Undefined for a layer without changes. */
  async current(layerId: number): Promise<StoredStyle | undefined> {
    const [row] = await this.#versions(layerId).limit(1).execute();
    return row && stored(row);
  }

  /** One version; undefined when it is not kept. */
  async version(layerId: number, version: number): Promise<StoredStyle | undefined> {
    const row = await this.#versions(layerId).where('version', '=', version).executeTakeFirst();
    return row && stored(row);
  }

  /** All versions of a layer that are kept, newest first. */
  async history(layerId: number): Promise<StyleRevision[]> {
    const rows = await this.db
      .selectFrom('styles')
      .select(['version', 'changed_by', 'change_summary', 'revised_at'])
      .where('layer_id', '=', layerId)
      .orderBy('version', 'desc')
      .execute();
    return rows.map(revision);
  }

  /** The active versions of all layers with a style document. */
  async inForce(): Promise<StoredStyle[]> {
    return (await this.latest()).filter(({ document }) => document !== null);
  }

  /** The active versions of layers, including layers that returned to the default style. Default: of all layers. */
  async latest(layerIds?: readonly number[]): Promise<StoredStyle[]> {
    const rows = await this.db
      .selectFrom('styles')
      .$if(layerIds !== undefined, (all) => all.where('layer_id', 'in', layerIds!))
      .selectAll()
      .where(({ eb, selectFrom }) =>
        eb(
          'version',
          '=',
          selectFrom('styles as newer')
            .select(({ fn }) => fn.max('newer.version').as('version'))
            .whereRef('newer.layer_id', '=', 'styles.layer_id'),
        ),
      )
      .execute();
    return rows.map(stored);
  }

  /** Adds a version. Resolves once it is durable. The oldest versions above the limit are removed. */
  put(layerId: number, change: StyleChange): Promise<StoredStyle> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'styles', layerId);
      const before = await new StyleStore(trx, this.limit).current(layerId);
      const version = (before?.version ?? 0) + 1;
      const { document = before?.document ?? null, drawingInfo = before?.drawingInfo ?? null } = change;
      const { popupInfo = before?.popupInfo ?? null, changedBy, changeSummary } = change;
      const row = await trx
        .insertInto('styles')
        .values({
          layer_id: layerId,
          version,
          document_version: change.document === undefined ? (before?.documentVersion ?? 0) : version,
          document_json: text(document),
          drawing_info_json: text(drawingInfo),
          popup_info_json: text(popupInfo),
          changed_by: changedBy,
          change_summary: changeSummary,
          revised_at: Date.now(),
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      await trx
        .deleteFrom('styles')
        .where('layer_id', '=', layerId)
        .where('version', '<=', version - this.limit)
        .execute();
      await announce(trx, 'style', layerId);
      return stored(row);
    });
  }

  #versions(layerId: number) {
    return this.db
      .selectFrom('styles')
      .selectAll()
      .where('layer_id', '=', layerId)
      .orderBy('version', 'desc');
  }
}

function text(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

function parseJson<T>(json: string | null): T | null {
  return json === null ? null : (JSON.parse(json) as T);
}

function stored(row: Selectable<StyleTable>): StoredStyle {
  return {
    layerId: row.layer_id,
    ...revision(row),
    documentVersion: row.document_version,
    document: parseJson(row.document_json),
    drawingInfo: parseJson(row.drawing_info_json),
    popupInfo: parseJson(row.popup_info_json),
  };
}

function revision({
  version,
  changed_by,
  change_summary,
  revised_at,
}: Pick<StyleTable, 'version' | 'changed_by' | 'change_summary' | 'revised_at'>): StyleRevision {
  return { version, changedBy: changed_by, changeSummary: change_summary, revisedAt: revised_at };
}
