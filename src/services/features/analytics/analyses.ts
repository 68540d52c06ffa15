import { hasFeatures } from '../../../core/catalog/abilities.js';
import { requirePlace } from '../../../core/catalog/find.js';
import { unreadLayer } from '../../../core/catalog/unread.js';
import { and } from '../../../core/cql2/index.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { AnalyticsResult, ClusterAlgorithm, Statistic } from '../../../core/features/analytics.js';
import type {
  BufferAggregate,
  Clusters,
  Density,
  SpatialJoin,
} from '../../../core/features/analytics-bodies.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import type { Principal } from '../../../core/http/operation.js';
import { type Licensing, requireEntitlement } from '../../../core/licensing/entitlements.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { type GeoServicesFilter, geoServicesFilter } from '../../geoservices/filter.js';
import { runTask, type TaskContext } from '../../kit/run-task.js';
import { type Catalogs, type CollectionView, filterOptions, findView } from '../view.js';
import {
  fieldNamed,
  integerWithin,
  isNumeric,
  numberWithin,
  parseChoice,
  parseFieldNames,
  parseFiniteNumber,
  parseFlag,
  parseOutStatistics,
} from './members.js';

/**
 * Analytics over any store, computed in the workers, for all protocols. Each function throws 400 with the name of the
 * wrong member.
 */

export interface AnalyticsDeps extends Catalogs {
  readonly pools: Pools;
  readonly licensing: Licensing;
}

export interface Analysis {
  readonly operation: 'h3' | 'clusters' | 'spatial-join' | 'buffer-aggregate' | 'density';
  readonly result: AnalyticsResult;
  /** Maximum number of output features. */
  readonly maxOutputRows?: number;
}

/** Subject of an analytics request. */
export interface Subject {
  readonly deps: AnalyticsDeps;
  readonly x: TaskContext & { readonly principal: Principal };
  readonly view: CollectionView;
  /** The features are those of a feature set of GeoServices. */
  readonly asFeatureSet?: boolean;
}

const MAX_METRES = 100_000;

/** The view for an analysis that a licence has to cover. Throws 402 and 404. */
export function licensedView(deps: AnalyticsDeps, principal: Principal, id: string): CollectionView {
  const view = findView(deps, principal, id);
  requirePlace(view.collection);
  requireEntitlement(deps.licensing, 'spatial-analytics');
  return view;
}

/** Filter of the features of a view: the visible rows, and the filters of the request. */
function query({ view, asFeatureSet = false }: Subject, filter: GeoServicesFilter) {
  const own = geoServicesFilter(filter, filterOptions(view), view.collection.storageCrs);
  return { source: view.source, filter: and(view.rows, own), asFeatureSet };
}

export interface H3Members {
  readonly resolution?: number | undefined;
  readonly where?: string | undefined;
  readonly outStatistics?: string | undefined;
}

export async function requestH3Cells(
  subject: Subject,
  { resolution, where, outStatistics }: H3Members,
): Promise<Analysis> {
  const { deps, x, view } = subject;
  if (resolution === undefined) throw badParameter('resolution', 'is required');
  const statistics: Statistic[] = parseOutStatistics(outStatistics, view.queryables, ['h3', 'count']);
  const task = { ...query(subject, where === undefined ? {} : { where }), resolution, statistics };
  return { operation: 'h3', result: await runTask(x, deps.pools, 'vector.h3', task) };
}

export async function requestClusters(subject: Subject, body: Clusters): Promise<Analysis> {
  const { deps, x, view } = subject;
  const hulls = parseFlag('returnHullPerCluster', body.returnHullPerCluster, false);
  const statistics = parseOutStatistics(body.outStatistics, view.queryables, ['clusterId', 'featureCount']);
  if (statistics.length > 0 && !hulls)
    throw badParameter('outStatistics', 'is only allowed if returnHullPerCluster is true');
  const task = {
    ...query(subject, body),
    algorithm: parseAlgorithm(body),
    fields: hulls ? [] : view.fields.map(({ name }) => name),
    hulls,
    statistics,
  };
  const result = await runTask(x, deps.pools, 'vector.clusters', task);
  return { operation: 'clusters', result, ...(hulls ? { maxOutputRows: FEATURE_LIMITS.clusters } : {}) };
}

function parseAlgorithm({ algorithm, eps, minPoints, k }: Clusters): ClusterAlgorithm {
  const name = parseChoice('algorithm', algorithm, { dbscan: 'dbscan', kmeans: 'kmeans' });
  if (name === 'kmeans') return { name, k: integerWithin('k', k, 1, 1000) };
  const metres = numberWithin('eps', eps, 0, MAX_METRES);
  if (metres === 0) throw badParameter('eps', 'must be above 0');
  return { name, eps: metres, minPoints: integerWithin('minPoints', minPoints, 1, 2 ** 31) };
}

export async function requestSpatialJoin(subject: Subject, body: SpatialJoin): Promise<Analysis> {
  const { deps, x, view } = subject;
  const right = joinedView(deps, x.principal, view, body);
  const predicate = parseChoice('predicate', body.predicate, {
    intersects: 'intersects',
    contains: 'contains',
    within: 'within',
    dwithin: 'dwithin',
  });
  const distance = predicate === 'dwithin' ? numberWithin('distance', body.distance, 0, MAX_METRES) : 0;
  const carry = parseFieldNames('carryFields', body.carryFields, right.fields);
  const reserved = ['objectId', 'attributes', 'matchCount', ...carry];
  if (new Set(reserved).size < reserved.length)
    throw badParameter('carryFields', 'has a name that is reserved in the response. Choose another name');
  const statistics = parseOutStatistics(body.outStatistics, right.queryables, reserved);
  const { source, rows } = right;
  const task = {
    ...query(subject, body),
    fields: view.fields.map(({ name }) => name),
    predicate,
    distance,
    right: { source, carry, statistics, filter: rows },
  };
  return { operation: 'spatial-join', result: await runTask(x, deps.pools, 'vector.spatialJoin', task) };
}

/** The other layer, as the principal may read it. */
function joinedView(
  deps: Catalogs,
  principal: Principal,
  view: CollectionView,
  { joinLayerId }: SpatialJoin,
): CollectionView {
  const layerId = integerWithin('joinLayerId', joinLayerId, 0, 2 ** 31);
  if (layerId === view.collection.layerId) throw badParameter('joinLayerId', 'must be another layer');
  const catalog = deps.visible(principal);
  const collection = catalog.byLayerId(layerId);
  if (!hasFeatures(collection))
    throw (
      unreadLayer(catalog, layerId) ?? badParameter('joinLayerId', `there is no feature layer ${layerId}`)
    );
  requirePlace(collection);
  return findView(deps, principal, collection.id);
}

const UNITS = {
  meters: 'meters',
  kilometers: 'kilometers',
  feet: 'feet',
  miles: 'miles',
  m: 'meters',
  km: 'kilometers',
  ft: 'feet',
  mi: 'miles',
} as const;
const METRES = { meters: 1, kilometers: 1000, feet: 0.3048, miles: 1609.344 } as const;

export async function requestBufferAggregate(subject: Subject, body: BufferAggregate): Promise<Analysis> {
  const { deps, x, view } = subject;
  const dissolve = parseFlag('dissolve', body.dissolve, true);
  const groupBy = parseFieldNames('groupByFields', body.groupByFields, view.queryables);
  const reserved = ['featureCount', ...groupBy];
  if (new Set(reserved).size < reserved.length)
    throw badParameter('groupByFields', 'has a name that is reserved in the response. Choose another name');
  const statistics = parseOutStatistics(body.outStatistics, view.queryables, reserved);
  if (!dissolve && statistics.length > 0)
    throw badParameter('outStatistics', 'is only allowed if dissolve is true');
  const task = { ...query(subject, body), distance: bufferMetres(body), dissolve, groupBy, statistics };
  return {
    operation: 'buffer-aggregate',
    result: await runTask(x, deps.pools, 'vector.bufferAggregate', task),
  };
}

function bufferMetres({ distance, unit }: BufferAggregate): number {
  const number = parseFiniteNumber('distance', distance);
  if (number === undefined) throw badParameter('distance', 'is required');
  const metres = number * METRES[parseChoice('unit', unit, UNITS)];
  if (metres < 0 || metres > MAX_METRES)
    throw badParameter('distance', `must be between 0 and ${MAX_METRES} metres`);
  return metres;
}

const MODES = {
  hex: 'hex',
  hexgrid: 'hex',
  'hex-grid': 'hex',
  square: 'square',
  squaregrid: 'square',
  'square-grid': 'square',
} as const;

export async function requestDensity(subject: Subject, body: Density): Promise<Analysis> {
  const { deps, x, view } = subject;
  const { weightField } = body;
  if (weightField && !isNumeric(fieldNamed('weightField', weightField, view.queryables)))
    throw badParameter('weightField', 'must be a numeric field');
  const task = {
    ...query(subject, body),
    mode: parseChoice('mode', body.mode, MODES),
    cellSize: numberWithin('cellSize', body.cellSize, 10, MAX_METRES),
    ...(weightField ? { weight: weightField } : {}),
  };
  const result = await runTask(x, deps.pools, 'vector.density', task);
  return { operation: 'density', result, maxOutputRows: FEATURE_LIMITS.densityCells };
}
