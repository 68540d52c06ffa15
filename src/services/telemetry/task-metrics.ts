import { SERVICE } from '../../core/access/access.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../core/catalog/catalog-change.js';
import { type Expression, isArray, isCall, type Operand } from '../../core/cql2/ast.js';
import type { EditResult } from '../../core/edits/edits.js';
import type { TaskName } from '../../core/tasks/tasks.js';
import * as geometry from './geometry-metrics.js';
import * as metrics from './store-metrics.js';

/** Labels of a task, in addition to its name. */

/** Kinds of queries, by the task that makes them. */
const QUERY_TYPES: Partial<Record<TaskName, string>> = {
  'vector.tile': 'tile',
  'vector.sceneTile': 'scene_tile',
  'vector.sceneCells': 'scene_cells',
  'vector.items': 'select',
  'vector.item': 'select_by_id',
  'vector.count': 'count',
  'vector.timedCount': 'count',
  'vector.groups': 'groups',
  'vector.groupCount': 'groups',
  'vector.classBreaks': 'groups',
  'vector.bins': 'groups',
  'vector.top': 'groups',
  'vector.edit': 'edit',
  'vector.events': 'events',
  'vector.occupied': 'exists',
  'vector.h3': 'h3',
  'vector.clusters': 'clusters',
  'vector.density': 'density',
  'vector.statistics': 'statistics',
  'vector.spatialJoin': 'spatial_join',
  'vector.bufferAggregate': 'buffer_aggregate',
  'vector.stacSearch': 'stac_search',
};
const SPATIAL: ReadonlySet<string> = new Set([
  'tile',
  'scene_tile',
  'scene_cells',
  'exists',
  'h3',
  'clusters',
  'density',
  'spatial_join',
  'buffer_aggregate',
]);
/** Kinds of queries that compute with geometries. */
const COMPUTING: ReadonlySet<string> = new Set([
  'h3',
  'clusters',
  'density',
  'spatial_join',
  'buffer_aggregate',
]);

/** Members of task inputs that describe their sources. */
interface Input {
  source?: { crs?: string };
  layers?: readonly { source?: { crs?: string }; filter?: Expression }[];
  crs?: string;
  filter?: Expression;
}

/** Names of a layer. For a task that reads several layers, only `layerId` is set. */
interface LayerNames {
  readonly layerId: string;
  readonly collection?: string;
  readonly service?: string;
}

const SEVERAL: LayerNames = { layerId: 'several' };
const layerNames = new WeakMap<object, LayerNames>();

/** Stores the layer ids by their sources, because tasks only name their sources. */
export function rememberLayerLabels(changed: readonly ChangedCollection[]): void {
  for (const { after: collection } of changed) {
    if (!hasFeatures(collection)) continue;
    const { id, layerId, service = SERVICE, source } = collection;
    layerNames.set(source, { layerId: String(layerId), collection: id, service });
  }
}

/** Finds the names of the layer that a task reads; undefined where it reads none. */
export function findLayerNames(input: unknown): LayerNames | undefined {
  const { source, layers } = input as Input;
  if (layers && layers.length > 1) return SEVERAL;
  const read = source ?? layers?.[0]?.source;
  return read && layerNames.get(read);
}

/** The id of the layer that a task reads. `several` for more than one, and empty for none. */
function getTaskLayerId(input: unknown): string {
  return findLayerNames(input)?.layerId ?? '';
}

/** The kind of query that a task makes. Undefined for a task without a query. */
export function findQueryType(name: TaskName): string | undefined {
  return QUERY_TYPES[name];
}

/** A task that has ended. */
export interface EndedTask {
  name: TaskName;
  input: unknown;
  /** Undefined of one that failed. */
  output: unknown;
  ms: number;
}

export function countTask(task: EndedTask): void {
  const { name, input, output, ms } = task;
  const type = QUERY_TYPES[name];
  if (type !== undefined) countQuery(task, type);
  if (name === 'vector.edit') countEdit(output as EditResult | undefined, ms);
  if (projects(input as Input)) count(geometry.transforms, name, ms);
}

function countEdit(result: EditResult | undefined, ms: number): void {
  metrics.transactionDuration.cell().observe(ms);
  // A transaction without changes is rolled back.
  const outcome = result?.change ? 'committed' : 'rolled_back';
  metrics.transactions.cell(result ? outcome : 'failed').inc();
  for (const positions of result?.positions ?? []) geometry.geometryComplexity.cell().observe(positions);
}

function countQuery({ name, input, output, ms }: EndedTask, type: string): void {
  const layer = getTaskLayerId(input);
  metrics.databaseQueryDuration.cell(type, layer).observe(ms);
  metrics.databaseQueries.cell(type, layer).inc();
  const records = output === undefined ? undefined : countRecords(name, output);
  if (records !== undefined) metrics.databaseQueryRecords.cell(type, layer).observe(records);
  if (SPATIAL.has(type)) count(geometry.spatialQueries, type, ms);
  if (COMPUTING.has(type)) count(geometry.geometryOperations, type, ms);
  if (type === 'tile') count(geometry.geometryTransformations, type, ms);
  const predicate = spatialPredicate(input as Input);
  if (predicate !== undefined) count(geometry.spatialFilters, predicate, ms);
}

function count({ total, duration }: typeof geometry.transforms, label: string, ms: number): void {
  total.cell(label).inc();
  duration.cell(label).observe(ms);
}

/** Number of records that a query returned. Undefined for a task that returns none. */
export function countRecords(name: TaskName, output: unknown): number | undefined {
  if (name === 'vector.item') return output === null ? 0 : 1;
  const { returned, features, events, outcomes } = output as Record<string, unknown>;
  if (typeof returned === 'number') return returned;
  if (typeof features === 'number') return features;
  return ((events ?? outcomes) as unknown[] | undefined)?.length;
}

/** The first spatial predicate of the filters, as CQL2 names it. Filters were bounded when they were read. */
function spatialPredicate({ filter, layers = [] }: Input): string | undefined {
  const filters = [filter, ...layers.map((layer) => layer.filter)];
  const operands: Operand[] = filters.filter((one) => one !== undefined);
  for (let operand = operands.pop(); operand !== undefined; operand = operands.pop()) {
    if (isArray(operand)) operands.push(...operand);
    else if (!isCall(operand)) continue;
    else if (operand.op.startsWith('s_')) return operand.op;
    else operands.push(...operand.args);
  }
  return undefined;
}

/** Whether the CRS of a task's output differs from the CRS of its source. */
function projects({ source, layers, crs }: Input): boolean {
  if (crs === undefined) return false;
  if (source?.crs !== undefined) return source.crs !== crs;
  return layers?.some((layer) => layer.source?.crs !== undefined && layer.source.crs !== crs) ?? false;
}
