import { createHash } from 'node:crypto';
import { rowImage } from '../../../../core/features/row-image.js';
import type { Field, PostgisSource } from '../../../../core/sources/vector-source.js';
import { eventsKept } from '../../../edits/retention.js';
import { cutAtAntimeridian } from '../antimeridian.js';
import { flatSurfaces, partsSql, quote, shownArray } from '../schema/names.js';
import { LOCK } from './outbox.js';

/** Maximum rows of a foreign statement that are published one by one. Above it the feed sends a gap. */
const MAX_ROWS = 1000;
const CRS84 = 4326;
const DECIMALS = 7;

/**
 * Setting of the server's own transactions: the table whose edits the server reports itself, and the image of its
 * rows. Rows of other tables that an edit changes, by foreign keys or triggers, are captured like edits of other
 * programs.
 */
const TOLD = 'graticule.told';
export const TRIGGER = 'graticule_capture';

/**
 * Objects that all captured tables share. Statements stage their events, and the events get their cursors when the
 * transaction commits. The lock on cursors is therefore as short as for the server's own edits, and no transaction
 * waits for a row while it has the lock.
 */
export const shared = () => [
  `CREATE TABLE IF NOT EXISTS graticule_events.staged (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, xact xid8 NOT NULL, table_name text NOT NULL,
    feature_id text NOT NULL, operation text NOT NULL, envelope_before json, envelope_after json, geometry json,
    attributes json, changed_attributes json NOT NULL, geometry_changed boolean NOT NULL, geometry_before json,
    attributes_before json)`,
  "ALTER TABLE graticule_events.staged ADD COLUMN IF NOT EXISTS image text NOT NULL DEFAULT ''",
  'CREATE INDEX IF NOT EXISTS staged_xact ON graticule_events.staged (xact)',
  'CREATE TABLE IF NOT EXISTS graticule_events.staging (xact xid8 NOT NULL)',
  `CREATE OR REPLACE FUNCTION graticule_events.tell() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
   SET search_path = pg_catalog, pg_temp AS $graticule$
   BEGIN
     DELETE FROM graticule_events.staging WHERE xact = NEW.xact;
     IF NOT FOUND THEN RETURN NULL; END IF;
     PERFORM pg_advisory_xact_lock(${LOCK}), pg_notify('graticule_events', '');
     WITH taken AS (DELETE FROM graticule_events.staged WHERE xact = NEW.xact RETURNING *)
     INSERT INTO graticule_events.outbox (event_id, time, collection, layer_id, table_name, feature_id, operation,
       protocol, request_id, actor, envelope_before, envelope_after, geometry, attributes, changed_attributes,
       geometry_changed, geometry_before, attributes_before)
     SELECT gen_random_uuid(), clock_timestamp(), coalesce(nullif(image, ''), table_name), 0, table_name, feature_id, operation, 'Database',
       'xact-' || xact::text, session_user, envelope_before, envelope_after, geometry, attributes, changed_attributes,
       geometry_changed, geometry_before, attributes_before
     FROM taken ORDER BY id;
     DELETE FROM graticule_events.outbox
       WHERE cursor <= (SELECT max(cursor) FROM graticule_events.outbox) - ${eventsKept().count};
     RETURN NULL;
   END $graticule$`,
  'DROP TRIGGER IF EXISTS tell ON graticule_events.staging',
  `CREATE CONSTRAINT TRIGGER tell AFTER INSERT ON graticule_events.staging DEFERRABLE INITIALLY DEFERRED
   FOR EACH ROW EXECUTE FUNCTION graticule_events.tell()`,
];

/**
 * SQL that starts one of the server's own transactions. It returns whether captured rows can be withdrawn. A merge
 * does not name an image.
 */
export function beginTold({ schema, table }: PostgisSource, image: string): string {
  const told = literal(`${schema}.${table}|${image}`);
  return `SELECT set_config('${TOLD}', ${told}, true),
    coalesce(has_table_privilege(to_regclass('graticule_events.staged'), 'DELETE'), false)`;
}

/** SQL that takes back captured rows of the transaction, which its own events report. `ids` is a JSON array. */
export function writeStagedDelete({ schema, table }: PostgisSource, ids: string): string {
  return `DELETE FROM graticule_events.staged WHERE xact = pg_current_xact_id()
    AND table_name = ${literal(`${schema}.${table}`)} AND feature_id IN (SELECT json_array_elements_text(${ids}))`;
}

/**
 * Returns the function that stages the changes of a statement on a table, named after the table and its definition.
 * `sources` has one entry for each image of the rows.
 */
export function buildCaptureFunction(
  sources: readonly PostgisSource[],
  postgis: string,
): { name: string; sql: string } {
  const body = buildBody(sources);
  const { schema, table } = sources[0]!;
  const mark = createHash('sha1').update(`${schema}.${table}${postgis}${body}`).digest('hex');
  const name = `capture_${mark.slice(0, 16)}`;
  const sql = `CREATE OR REPLACE FUNCTION graticule_events.${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, ${quote(postgis)}, pg_temp SET "TimeZone" = 'UTC' SET "DateStyle" = 'ISO, YMD'
    SET "IntervalStyle" = 'iso_8601' SET extra_float_digits = '1' SET jit = 'off' AS $graticule$${body}$graticule$`;
  return { name, sql };
}

/** The four triggers of a table. Statement by statement: one of many rows costs one call. */
export function buildCaptureTriggers({ schema, table }: PostgisSource, name: string): string[] {
  const parts: [suffix: string, event: string, rows: string][] = [
    ['insert', 'INSERT', 'REFERENCING NEW TABLE AS new_rows'],
    ['update', 'UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'],
    ['delete', 'DELETE', 'REFERENCING OLD TABLE AS old_rows'],
    ['truncate', 'TRUNCATE', ''],
  ];
  return parts.map(
    ([suffix, event, rows]) => `CREATE TRIGGER ${TRIGGER}_${suffix} AFTER ${event}
      ON ${quote(schema)}.${quote(table)} ${rows}
      FOR EACH STATEMENT EXECUTE FUNCTION graticule_events.${name}()`,
  );
}

function buildBody(sources: readonly PostgisSource[]): string {
  const table = literal(`${sources[0]!.schema}.${sources[0]!.table}`);
  const columns = `(xact, table_name, image, feature_id, operation, envelope_before, envelope_after, geometry, attributes,
      changed_attributes, geometry_changed, geometry_before, attributes_before)`;
  const gap = (
    reason: string,
  ) => `INSERT INTO graticule_events.staged (xact, table_name, feature_id, operation, attributes,
      changed_attributes, geometry_changed) VALUES (pg_current_xact_id(), ${table}, '', 'gap', ${reason}, '[]', true);`;
  const counted = (rows: string) =>
    `SELECT count(*) INTO n FROM (SELECT FROM ${rows} LIMIT ${MAX_ROWS + 1}) AS r;`;
  const staged = (rows: (source: PostgisSource) => string) =>
    sources
      .map((source) => {
        const image = literal(rowImage(source));
        return `IF NOT is_told OR told = ${table} || '|' || ${image} THEN
          INSERT INTO graticule_events.staged ${columns} ${rows(source)};
        END IF;`;
      })
      .join('\n        ');
  return `
  DECLARE
    n bigint;
    told text := coalesce(current_setting('${TOLD}', true), '');
    is_told boolean := starts_with(told, ${table} || '|');
  BEGIN
    IF told = ${table} || '|' THEN RETURN NULL; END IF;
    IF TG_OP = 'TRUNCATE' THEN n := ${MAX_ROWS + 1};
    ELSIF TG_OP = 'DELETE' THEN ${counted('old_rows')}
    ELSE ${counted('new_rows')} END IF;
    IF n = 0 THEN RETURN NULL; END IF;
    INSERT INTO graticule_events.staging VALUES (pg_current_xact_id());
    IF n > ${MAX_ROWS} THEN ${gap('NULL')} RETURN NULL; END IF;
    BEGIN
      IF TG_OP = 'INSERT' THEN
        ${staged((source) => whole(source, table, 'insert', 'new_rows'))}
      ELSIF TG_OP = 'DELETE' THEN
        ${staged((source) => whole(source, table, 'delete', 'old_rows'))}
      ELSE
        ${staged((source) => changed(source, table))}
      END IF;
    EXCEPTION WHEN OTHERS THEN
      -- What cannot be told one by one must not keep anybody from editing. The server reports its own statements itself.
      IF NOT is_told OR pg_trigger_depth() > 1 THEN ${gap(`json_build_object('error', SQLSTATE || ': ' || SQLERRM)`)} END IF;
    END;
    RETURN NULL;
  END `;
}

/** Events of rows that came or went. */
function whole(source: PostgisSource, table: string, operation: 'insert' | 'delete', rows: string): string {
  const envelope = formatEnvelope('i.shape');
  const [before, after] = operation === 'insert' ? ['NULL', envelope] : [envelope, 'NULL'];
  return `SELECT pg_current_xact_id(), ${table}, ${literal(rowImage(source))}, i.id, '${operation}', ${before}, ${after}, ${geoJson('i.shape')},
      i.attributes, coalesce((SELECT json_agg(k) FROM json_object_keys(i.attributes) AS k), '[]'),
      i.shape IS NOT NULL, NULL, NULL
    FROM (${formatImage(source, rows)}) AS i`;
}

/**
 * SQL for the events of changed rows. A row with a new key is deleted and inserted. Unchanged rows cause no events.
 */
function changed(source: PostgisSource, table: string): string {
  const moved = 'o.raw IS DISTINCT FROM n.raw';
  return `SELECT pg_current_xact_id(), ${table}, ${literal(rowImage(source))}, coalesce(n.id, o.id),
      CASE WHEN o.id IS NULL THEN 'insert' WHEN n.id IS NULL THEN 'delete' ELSE 'update' END,
      ${formatEnvelope('o.shape')}, ${formatEnvelope('n.shape')},
      ${geoJson('CASE WHEN n.id IS NULL THEN o.shape ELSE n.shape END')}, coalesce(n.attributes, o.attributes),
      d.names, ${moved},
      CASE WHEN o.id IS NOT NULL AND n.id IS NOT NULL AND ${moved}
        THEN coalesce(${geoJson('o.shape')}, 'null'::json) END,
      CASE WHEN o.id IS NOT NULL AND n.id IS NOT NULL THEN d.before END
    FROM (${formatImage(source, 'old_rows')}) AS o FULL JOIN (${formatImage(source, 'new_rows')}) AS n ON o.id = n.id
    CROSS JOIN LATERAL (
      SELECT coalesce(json_agg(a.key), '[]') AS names, coalesce(json_object_agg(a.key, b.value), '{}') AS before
      FROM json_each(coalesce(n.attributes, o.attributes)) AS a
      LEFT JOIN json_each(CASE WHEN n.id IS NOT NULL THEN o.attributes END) AS b ON b.key = a.key
      WHERE a.value::text IS DISTINCT FROM b.value::text) AS d
    WHERE o.id IS NULL OR n.id IS NULL OR ${moved} OR json_array_length(d.names) > 0`;
}

/** Rows as events show them: id, attributes, geometry in CRS84, and the geometry's bytes to compare. */
function formatImage(source: PostgisSource, rows: string): string {
  const geometry = `t.${quote(source.geometryColumn)}${source.geography ? '::geometry' : ''}`;
  const values = source.fields.map((field) => `${formatJson(field)} AS ${quote(field.name)}`);
  // A column may be called as the subquery: `v.*` is the row even then.
  const attributes =
    values.length > 0 ? `(SELECT row_to_json(v.*) FROM (SELECT ${values.join(', ')}) AS v)` : `'{}'::json`;
  const { compositeKey, idColumn } = source;
  const id = compositeKey ? partsSql(compositeKey) : `t.${quote(idColumn)}::text`;
  return `SELECT ${id} AS id, ${attributes} AS attributes, ${formatShape(source, geometry)} AS shape,
    ST_AsEWKB(${geometry}) AS raw
    FROM ${rows} AS t`;
}

/** A geometry as features show it: of the kinds of GeoJSON, its rings ordered, in CRS84; NULL without positions. */
function formatShape(source: PostgisSource, geometry: string): string {
  const shown = source.geography ? cutAtAntimeridian(geometry) : geometry;
  // GeoJSON of PostGIS does not support curves. Simple geometries are converted without changes.
  const isSimple = !source.curved && !source.mayHoldSurfaces;
  const flat = `CASE GeometryType(${shown}) WHEN 'TRIANGLE' THEN ST_MakePolygon(ST_ExteriorRing(${shown}))
    ELSE ST_CurveToLine(${flatSurfaces(shown)}) END`;
  const placed = `ST_SetSRID(${isSimple ? shown : flat}, ${Math.trunc(source.statedSrid ?? source.srid)})`;
  const isOdd = `GeometryType(${geometry}) = 'POINT' AND NOT (${finite(`ST_X(${geometry})`)} AND ${finite(`ST_Y(${geometry})`)})`;
  return `CASE WHEN ST_IsEmpty(${geometry}) OR ${isOdd} THEN NULL ELSE ST_ForcePolygonCCW(ST_Transform(${placed}, ${CRS84})) END`;
}

/** A value in the form in which features carry it. */
function formatJson({ name, type, sqlType = 'text' }: Field): string {
  const value = `t.${quote(name)}`;
  if (type === 'json' || type === 'array') return `to_json(${shownArray(value, sqlType)})`;
  if (/^timestamp/.test(sqlType))
    return formatTime(/with time zone/.test(sqlType) ? `(${value} AT TIME ZONE 'UTC')` : value);
  if (sqlType === 'date') return `CASE WHEN isfinite(${value}) THEN ${formatDay(value)} END`;
  if (sqlType === 'bytea') return `translate(encode(${value}, 'base64'), E'\\n', '')`;
  if (/^(real|double precision|numeric)/.test(sqlType)) return `CASE WHEN ${finite(value)} THEN ${value} END`;
  return type === 'string' ? `${value}::text` : value;
}

/** Not compared as a number: PostgreSQL 13 has no infinite numeric. */
const finite = (number: string) => `${number}::text NOT IN ('NaN', 'Infinity', '-Infinity')`;

function formatTime(timestamp: string): string {
  const fraction = `rtrim(rtrim(to_char(${timestamp}, '.US'), '0'), '.')`;
  return `CASE WHEN isfinite(${timestamp})
    THEN ${formatDay(timestamp)} || to_char(${timestamp}, '"T"HH24:MI:SS') || ${fraction} || 'Z' END`;
}

/** Years in ISO 8601: 1 BC is 0000, and years without exactly four digits have a sign and six digits. */
function formatDay(value: string): string {
  const year = `extract(year FROM ${value})`;
  const signed = `CASE WHEN ${year} > 0 THEN '+' || lpad((${year})::int::text, 6, '0')
    ELSE '-' || lpad((-1 - ${year})::int::text, 6, '0') END`;
  return `(CASE WHEN ${year} BETWEEN 1 AND 9999 THEN to_char(${value}, 'YYYY') WHEN ${year} = -1 THEN '0000' ELSE ${signed} END
    || to_char(${value}, '-MM-DD'))`;
}

const geoJson = (shape: string) => `ST_AsGeoJSON(${shape}, ${DECIMALS})::json`;

function formatEnvelope(shape: string): string {
  return `CASE WHEN NOT ST_IsEmpty(${shape}) THEN json_build_array(ST_XMin(${shape}), ST_YMin(${shape}),
    ST_XMax(${shape}), ST_YMax(${shape})) END`;
}

function literal(text: string): string {
  return `'${text.replace(/'/g, "''")}'`;
}
