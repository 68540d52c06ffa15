import type { TableChoice, TableLayer, TableTasks } from '../../../../core/tasks/table-tasks.js';
import type { Patience } from '../../../../core/tasks/vector-tasks.js';
import { isPgError, type PostgresConnection } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { LookTime } from '../connections/look-time.js';
import { newestCursor } from '../edits/outbox.js';
import { TableMeasurement } from '../queries/measure.js';
import { type SpatialTable, spatialTables } from './catalog.js';
import { describeEndless, describeTableLayer } from './discover.js';
import { readIdentifier } from './tables.js';

/** A request waits for 30 seconds. */
const PATIENCE: Patience = { tableMs: 20_000, allMs: 25_000 };

/** Returns tables as layers. Each is read separately, because an unreadable table must not hide the other tables. */
export function tableLayers(
  { database, choices }: TableTasks['vector.layers']['input'],
  cancellation?: Cancellation,
): Promise<TableLayer[]> {
  return withConnection(
    database,
    async (connection) => {
      const cursor = await newestCursor(connection);
      const identify = await readIdentifier(connection, database);
      const layers: TableLayer[] = [];
      const time = new LookTime(connection, PATIENCE);
      for (const choice of choices)
        layers.push(await tableLayer(connection, database, choice, { cursor, identify, time }));
      return layers;
    },
    { cancellation },
  );
}

async function tableLayer(
  connection: PostgresConnection,
  database: string,
  choice: TableChoice,
  { cursor, identify, time }: { cursor: number; identify(oid: string): string; time: LookTime },
): Promise<TableLayer> {
  try {
    const table = findGeometryColumn(await spatialTables(connection, choice), choice.geometryColumn);
    if (!table)
      return { problem: 'The table does not have this geometry column, does not exist, or may not be read.' };
    const measure = new TableMeasurement(connection);
    const found = await time.within(table, () =>
      describeTableLayer(connection, database, table, measure, choice),
    );
    if (!found) return { problem: describeEndless(PATIENCE.tableMs) };
    return 'problem' in found ? found : { layer: { ...found, cursor, identity: identify(table.oid) } };
  } catch (error) {
    if (!isPgError(error) || !error.alive) throw error;
    return { problem: `It cannot be read: ${error.message}` };
  }
}

/** The geometry column of a name; the first when none is named. */
export function findGeometryColumn(
  columns: readonly SpatialTable[],
  name: string | undefined,
): SpatialTable | undefined {
  return name === undefined ? columns[0] : columns.find(({ geometryColumn }) => geometryColumn === name);
}
