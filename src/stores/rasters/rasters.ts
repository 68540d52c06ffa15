import type { Selectable } from 'kysely';
import type { RasterInfo } from '../../core/rasters/rasters.js';
import { StateError } from '../../workers/state/link.js';
import { auditResource } from '../audit/audit-scope.js';
import { announce } from '../database/announcements.js';
import type { StateDb } from '../schema/database.js';
import type { RegisteredKind, RegisteredRasterTable } from '../schema/schema.js';

/** A raster that the management API registered with a layer. `A` is the stored registration of its kind. */
export interface RegisteredRaster<A = unknown> {
  id: number;
  kind: RegisteredKind;
  layerId: number;
  name: string;
  description: string | null;
  /** Identifies the data within the layer, for example the file name of an import. */
  dataKey: string;
  registration: A;
  /** Grids that the last scan found. Empty if the server cannot read the format. */
  grids: RasterInfo[];
  /** RFC 3339. */
  acquired: string | null;
  scannedAt: number | null;
  createdAt: number;
  modifiedAt: number | null;
}

export type NewRaster<A> = Pick<
  RegisteredRaster<A>,
  'kind' | 'layerId' | 'name' | 'description' | 'dataKey' | 'registration' | 'grids' | 'acquired'
>;

export type RasterChange = Partial<
  Pick<
    RegisteredRaster,
    'name' | 'description' | 'acquired' | 'modifiedAt' | 'registration' | 'grids' | 'scannedAt'
  >
>;

/** Table of the registered rasters. */
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

  /** Adds a raster. Undefined if the layer has a raster with this kind and key: a unique index refuses it. */
  async add<A>(raster: NewRaster<A>): Promise<RegisteredRaster<A> | undefined> {
    const now = Date.now();
    const { kind, name, description, dataKey, registration, grids, acquired } = raster;
    try {
      return await this.db.transaction().execute(async (trx) => {
        const row = await trx
          .insertInto('registered_rasters')
          .values({
            kind,
            name,
            description,
            place: dataKey,
            acquired,
            layer_id: raster.layerId,
            about_json: JSON.stringify(registration),
            parts_json: JSON.stringify(grids),
            scanned_at: grids.length > 0 ? now : null,
            created_at: now,
            modified_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        // Sets the resource of the audit row, which the commit writes in this transaction.
        auditResource(row.id, { layerId: row.layer_id });
        await announce(trx, 'catalog', { reason: `raster ${row.id} was registered`, changes: [] });
        return registered<A>(row);
      });
    } catch (error) {
      if (error instanceof StateError && error.duplicate) return undefined;
      throw error;
    }
  }

  /** Changes a raster. Undefined if it does not exist. */
  change<A>(id: number, to: RasterChange): Promise<RegisteredRaster<A> | undefined> {
    const { registration, grids, scannedAt, modifiedAt, ...plain } = to;
    return this.db.transaction().execute(async (trx) => {
      const row = await trx
        .updateTable('registered_rasters')
        .set({
          ...plain,
          ...(registration === undefined ? {} : { about_json: JSON.stringify(registration) }),
          ...(grids === undefined ? {} : { parts_json: JSON.stringify(grids) }),
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

  /** Deletes a raster. False if it does not exist. */
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
    dataKey: row.place,
    registration: JSON.parse(row.about_json) as A,
    grids: JSON.parse(row.parts_json) as RasterInfo[],
    acquired: row.acquired,
    scannedAt: row.scanned_at,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  };
}
