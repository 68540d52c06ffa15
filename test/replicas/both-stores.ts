import { expect } from 'vitest';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { type EditableStore, geoPackageStore, postgisStore } from '../edits/support.js';
import { startTown, type Town } from './support.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

/** A town on a GeoPackage and one on PostGIS, with the same rows. */
export interface BothStores {
  readonly towns: readonly Town[];
  readonly database: EditableStore;
  /** The one answer of both to an operation of the layer of parcels. */
  ask(operation: string, members: Record<string, unknown>): Promise<Json>;
  stop(): Promise<void>;
}

export async function startBothStores(insert: string): Promise<BothStores> {
  const database = await postgisStore();
  await database.query(insert);
  const file = geoPackageStore();
  const db = connect(file.file, false);
  db.exec(insert);
  db.close();
  const stores = [file, database];
  const towns: Town[] = [];
  for (const store of stores) towns.push(await startTown(store));
  return {
    towns,
    database,
    async ask(operation, members) {
      const [first, second] = await Promise.all(
        towns.map((town) => town.post(`${town.layers['parcels']}/${operation}`, members)),
      );
      expect(second).toEqual(first);
      return first;
    },
    async stop() {
      for (const town of towns) await town.server.stop();
      for (const store of stores) await store.release();
    },
  };
}
