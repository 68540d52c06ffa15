import type { FeatureEvent } from '../../../../core/edits/edits.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import type { EventsResult, EventsTask } from '../../../../core/streams/events.js';
import { gapsIn } from '../../../edits/events.js';
import { reader, statement } from '../connection.js';
import { newestCursor } from './outbox.js';

interface OutboxRow {
  cursor: number;
  event_id: string;
  time: string;
  collection: string;
  layer_id: number;
  table_name: string;
  feature_id: string;
  operation: FeatureEvent['operation'];
  protocol: string;
  request_id: string;
  actor: string;
  envelope_before: string | null;
  envelope_after: string | null;
  geometry: string | null;
  attributes: string | null;
  changed_attributes: string;
  geometry_changed: number;
  geometry_before: string | null;
  attributes_before: string | null;
}

const SELECT = 'SELECT * FROM graticule_outbox WHERE cursor >= ? ORDER BY cursor LIMIT ?';

/** Events of a file from a cursor on. */
export function events({ source, from, limit }: EventsTask): EventsResult {
  const { path } = source as Pick<GeoPackageSource, 'path'>;
  const newest = newestCursor(reader(path));
  if (newest < from) return { events: [], newest };
  const rows = statement(path, SELECT).all(from, limit) as OutboxRow[];
  const events = rows.map(parseEvent);
  return { events, newest, ...gapsIn(events) };
}

function parseEvent(row: OutboxRow): FeatureEvent {
  return {
    cursor: row.cursor,
    eventId: row.event_id,
    time: row.time,
    collection: row.collection,
    layerId: row.layer_id,
    table: row.table_name,
    featureId: row.feature_id,
    operation: row.operation,
    protocol: row.protocol,
    requestId: row.request_id,
    actor: row.actor,
    envelopeBefore: parseEnvelope(row.envelope_before),
    envelopeAfter: parseEnvelope(row.envelope_after),
    geometry: row.geometry ?? undefined,
    attributes: row.attributes ?? undefined,
    geometryBefore: row.geometry_before ?? undefined,
    attributesBefore: row.attributes_before ?? undefined,
    changedAttributes: JSON.parse(row.changed_attributes),
    geometryChanged: row.geometry_changed === 1,
  };
}

function parseEnvelope(json: string | null): FeatureEvent['envelopeBefore'] {
  return json === null ? undefined : JSON.parse(json);
}
