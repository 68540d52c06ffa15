import type { Statistic } from '../../core/features/analytics.js';
import { findField } from '../../core/features/features.js';
import type { FeatureProcess, ProcessFeatures } from '../../core/processes/feature-processes.js';
import type { FieldType, VectorSource } from '../../core/sources/vector-source.js';

/** Whether the database of the features computes a process, as one statement. */

/** The kind of the statement; or why this server computes what the database could. */
export type PushDown = { readonly statement: string } | { readonly reason: string };

const here = (reason: string): PushDown => ({ reason });

/**
 * Setting for the processes that databases compute: processes that take less work there, all with a statement, or
 * none.
 */
export type PushDownSetting = 'measured' | 'all' | 'none';

/**
 * Plan of a push-down. Undefined if no features are in a database. `input` and `overlay` are the features to read,
 * with filters and masks.
 */
export function planPushDown(
  process: FeatureProcess,
  input: ProcessFeatures,
  overlay: ProcessFeatures | undefined,
  setting: PushDownSetting,
): PushDown | undefined {
  const sources = [input.source, ...(overlay ? [overlay.source] : [])];
  const databases = new Set(sources.map(({ database }) => database));
  if (databases.size === 1 && databases.has(undefined)) return undefined;
  if (databases.size > 1) return here('the layers do not lie in the same database');
  if (setting === 'none') return here('the settings say so');
  const pushDown = buildStatement(process, input, overlay, sources);
  const isLess = setting === 'all' || takesLess(process);
  return 'statement' in pushDown && !isLess ? here('it takes less work here') : pushDown;
}

/** By processor time of both (docs/decisions/0138-push-processes-down-to-postgis-if-it-takes-less-work.md). */
function takesLess(process: FeatureProcess): boolean {
  return process.kind !== 'map' && !(process.kind === 'join' && process.mode === 'each');
}

function buildStatement(
  process: FeatureProcess,
  input: ProcessFeatures,
  overlay: ProcessFeatures | undefined,
  sources: readonly VectorSource[],
): PushDown {
  if (sources.some(hasOtherGeometries)) return here('the geometries are geographies or curves');
  if (process.kind === 'map') return mapPushDown(process, input);
  if (process.kind === 'summarize') return summaryPushDown(process, input.source);
  if (MEASURED.has(process.kind)) return here('it takes less work here');
  if (process.kind !== 'join' && process.kind !== 'nearest') return here('the process has no statement');
  if (input.source.crs !== overlay!.source.crs) return here('the layers have different CRS');
  if (!overlay!.source.hasIndex) return here('the layer that is looked through has no spatial index');
  return process.kind === 'join' ? joinPushDown(process, overlay!.source) : nearestPushDown(process);
}

/** Whether a geometry column is of the geography type, or contains curves or surfaces. */
const hasOtherGeometries = (source: VectorSource & { geography?: boolean; holdsCurves?: boolean }) =>
  source.geography === true || source.holdsCurves === true;

/** PostGIS takes more processor time for them, and has no statement (docs/decisions/0138-push-processes-down-to-postgis-if-it-takes-less-work.md). */
const MEASURED: ReadonlySet<FeatureProcess['kind']> = new Set(['dissolve', 'clip', 'subtract', 'intersect']);

type Of<K extends FeatureProcess['kind']> = Extract<FeatureProcess, { kind: K }>;

const MAPS: Readonly<Partial<Record<string, string>>> = {
  buffer: 'ST_Buffer',
  centroid: 'ST_Centroid',
  'convex-hull': 'ST_ConvexHull',
  'simplify-topology': 'ST_SimplifyPreserveTopology',
};

function mapPushDown({ operation, parts, crs }: Of<'map'>, { source }: ProcessFeatures): PushDown {
  const statement = MAPS[operation.name];
  if (statement === undefined || parts || crs !== undefined) return here('the process has no statement');
  if (operation.ground) return here('it is measured over the ground');
  if (operation.strict) return here('invalid geometries are to be named');
  if (source.hasZ) return here('the geometries have heights');
  return { statement };
}

/**
 * Types whose values PostgreSQL groups like this server, and types whose minimum and maximum it finds like this
 * server.
 */
const GROUPED: ReadonlySet<FieldType> = new Set([
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'date-time',
]);
const ORDERED: ReadonlySet<FieldType> = new Set(['string', 'integer', 'number', 'date', 'date-time']);

const areOrdered = (statistics: readonly Statistic[], source: VectorSource) =>
  statistics.every(
    ({ type, field }) => (type !== 'min' && type !== 'max') || ORDERED.has(findField(source, field)!.type),
  );

function summaryPushDown({ by, statistics }: Of<'summarize'>, source: VectorSource): PushDown {
  if (by.some((name) => !GROUPED.has(findField(source, name)!.type)) || !areOrdered(statistics, source))
    return here('the database has no order of these values');
  return { statement: 'GROUP BY' };
}

function joinPushDown({ predicate, mode, reach, statistics }: Of<'join'>, others: VectorSource): PushDown {
  if (predicate === 'dwithin') {
    if (reach!.ground) return here('distances are measured over the ground');
    if (mode === 'each') return here('pairs within a distance are counted here');
  } else if (mode === 'first') return here('which match is the first is told by the order here');
  if (!areOrdered(statistics, others)) return here('the database has no order of these values');
  const relation = {
    intersects: 'ST_Intersects',
    contains: 'ST_Contains',
    within: 'ST_Within',
    dwithin: 'ST_DWithin',
  };
  return { statement: `JOIN LATERAL with ${relation[predicate]}` };
}

function nearestPushDown({ measure }: Of<'nearest'>): PushDown {
  if (measure.ground) return here('distances are measured over the ground');
  return { statement: 'JOIN LATERAL, ordered by <->' };
}
