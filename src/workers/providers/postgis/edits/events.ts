import type { FeatureEvent } from '../../../../core/edits/edits.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { EventsResult, EventsTask } from '../../../../core/streams/events.js';
import { gapsIn } from '../../../edits/events.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { newestCursor } from './outbox.js';

/** The columns as text where JSON is passed on, in the order of `parseEvent`. */
const COLUMNS = `cursor, event_id::text, to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), collection,
  layer_id, table_name, feature_id, operation, protocol, request_id, actor, envelope_before::text, envelope_after::text,
  geometry::text, attributes::text, geometry_before::text, attributes_before::text, changed_attributes::text,
  geometry_changed`;

/** Events of a database from a cursor on. They become visible in the order of their cursors. */
export function events(
  { source, from, limit }: EventsTask,
  cancellation?: Cancellation,
): Promise<EventsResult> {
  const { database } = source as Pick<PostgisSource, 'database'>;
  return withConnection(
    database,
    async (connection) => {
      const newest = await newestCursor(connection);
      if (newest < from) return { events: [], newest };
      const params = new SqlParams();
      const sql = `SELECT ${COLUMNS} FROM graticule_events.outbox WHERE cursor >= ${params.add(from, 'int8')}
        ORDER BY cursor LIMIT ${params.add(limit, 'int8')}`;
      const events = (await connection.query(sql, params.values)).map(parseEvent);
      return { events, newest, ...gapsIn(events) };
    },
    { cancellation },
  );
}

function parseEvent(row: unknown[]): FeatureEvent {
  const text = (i: number) => row[i] as string;
  const optional = (i: number) => (row[i] as string | null) ?? undefined;
  const box = (i: number): FeatureEvent['envelopeBefore'] =>
    row[i] === null ? undefined : JSON.parse(text(i));
  return {
    cursor: Number(row[0]),
    eventId: text(1),
    time: text(2),
    collection: text(3),
    layerId: Number(row[4]),
    table: text(5),
    featureId: text(6),
    operation: text(7) as FeatureEvent['operation'],
    protocol: text(8),
    requestId: text(9),
    actor: text(10),
    envelopeBefore: box(11),
    envelopeAfter: box(12),
    geometry: optional(13),
    attributes: optional(14),
    geometryBefore: optional(15),
    attributesBefore: optional(16),
    changedAttributes: JSON.parse(text(17)),
    geometryChanged: row[18] as boolean,
  };
}
