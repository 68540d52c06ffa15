import type { Selectable } from 'kysely';
import type { RasterInfo } from '../../core/rasters/rasters.js';
import { StateError } from '../../workers/state/link.js';
import { auditResource } from '../audit/audit-scope.js';
import { announce } from '../database/announcements.js';
import type { StateDb } from '../schema/database.js';
import type { RegisteredKind, RegisteredRasterTable } from '../schema/schema.js';

/** A raster that an operator registered with a layer. `A` is the stored registration of its kind. */
export interface RegisteredRaster<A = unknown> {
  id: number;
  kind: RegisteredKind;
  layerId: number;
  name: string;
  description: string | null;
  /** Names the data: of an import the name of its file. */
  place: string;
  about: A;
  /** Result of the last scan: several for a file with several grids, none without a reader for the format. */
  parts: RasterInfo[];
  /** RFC 3339. */
  acquired: string | null;
  scannedAt: number | null;
  createdAt: number;
  modifiedAt: number | null;
}

export type NewRaster<A> = Pick<
  RegisteredRaster<A>,
  'kind' | 'layerId' | 'name' | 'description' | 'place' | 'about' | 'parts' | 'acquired'
>;

export type RasterChange = Partial<
  Pick<RegisteredRaster, 'name' | 'description' | 'acquired' | 'modifiedAt' | 'about' | 'parts' | 'scannedAt'>
>;

/** Rasters that the management API registered. */
export class RasterStore {
  constructor(readonly db: StateDb) {}

  /** Rasters of a kind or a layer, oldest first. Default: all. */
  async list<A = unknown>(
    where: { kind?: RegisteredKind; layerId?: number } = {},
  ): Promise<RegisteredRaster<A>[]> {
    let query = this.db.selectFrom('registered_rasters').selectAll();
    if (where.kind !== undefined) query = query.where('kind', '=', where.kind);
    if (where.layerId !== undefined) query = query.where('layer_id', '=', where.layerId);
    return (await query.orderBy('id').execute()).map((row) => registered<A>(row));
  }

  async get<A = unknown>(kind: RegisteredKind, id: number): Promise<RegisteredRaster<A> | undefined> {
    const row = await this.db
      .selectFrom('registered_rasters')
      .selectAll()
      .where('kind', '=', kind)
      .where('id', '=', id)
      .executeTakeFirst();
    return row && registered<A>(row);
  }

  /** Undefined when the layer has a raster of that kind and place. */
  async add<A>(raster: NewRaster<A>): Promise<RegisteredRaster<A> | undefined> {
    const now = Date.now();
    const { kind, name, description, place, acquired } = raster;
    try {
      return await this.db.transaction().execute(async (trx) => {
        const row = await trx
          .insertInto('registered_rasters')
          .values({
            kind,
            name,
            description,
            place,
            acquired,
            layer_id: raster.layerId,
            about_json: JSON.stringify(raster.about),
            parts_json: JSON.stringify(raster.parts),
            scanned_at: raster.parts.length > 0 ? now : null,
            created_at: now,
            modified_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        // Called before the commit, so that the transaction includes the audit row.
        auditResource(row.id, { layerId: row.layer_id });
        await announce(trx, 'catalog', { reason: `raster ${row.id} was registered`, changes: [] });
        return registered<A>(row);
      });
    } catch (error) {
      if (error instanceof StateError && error.duplicate) return undefined;
      throw error;
    }
  }

  /** Undefined when there is none. */
  change<A>(id: number, to: RasterChange): Promise<RegisteredRaster<A> | undefined> {
    const { about, parts, scannedAt, modifiedAt, ...plain } = to;
    return this.db.transaction().execute(async (trx) => {
      const row = await trx
        .updateTable('registered_rasters')
        .set({
          ...plain,
          ...(about === undefined ? {} : { about_json: JSON.stringify(about) }),
          ...(parts === undefined ? {} : { parts_json: JSON.stringify(parts) }),
          ...(scannedAt === undefined ? {} : { scanned_at: scannedAt }),
          ...(modifiedAt === undefined ? {} : { modified_at: modifiedAt }),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (!row) return undefined;
      await announce(trx, 'catalog', { reason: `raster ${id} was changed`, changes: [] });
      return registered<A>(row);
    });
  }

  /** False when there was none. */
  remove(kind: RegisteredKind, id: number): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('registered_rasters')
        .where('kind', '=', kind)
        .where('id', '=', id)
        .executeTakeFirst();
      if (numDeletedRows === 0n) return false;
      await announce(trx, 'catalog', { reason: `raster ${id} was removed`, changes: [] });
      return true;
    });
  }
}

function registered<A>(row: Selectable<RegisteredRasterTable>): RegisteredRaster<A> {
  return {
    id: row.id,
    kind: row.kind,
    layerId: row.layer_id,
    name: row.name,
    description: row.description,
    place: row.place,
    about: JSON.parse(row.about_json) as A,
    parts: JSON.parse(row.parts_json) as RasterInfo[],
    acquired: row.acquired,
    scannedAt: row.scanned_at,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  };
}
