import type { VectorCollection } from '../../../core/collection.js';
import { and, type Expression } from '../../../core/cql2/index.js';
import type { Crs } from '../../../core/crs.js';
import { isExactNumber } from '../../../core/exact-number.js';
import { esriFields, esriTypeOf, featuresIn } from '../../../core/geoservices-features.js';
import type { Exchange } from '../../../core/operation.js';
import type { Pools } from '../../../core/tasks.js';
import { esriLayer } from '../../../services/replicas/layer-view.js';
import { runTask } from '../../../services/run-task.js';
import { displayField, spatialReferenceOf } from './layer-documents.js';
import type { Members } from './members.js';
import { queryRequest } from './query-request.js';

/** Features of map services one by one, as `identify` and `find` tell of them. */

export interface MapFeature {
  /** By the names of the fields. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly geometry?: Readonly<Record<string, unknown>> | null;
}

/** Most features of one answer. */
export const MOST_RESULTS = 1000;

/** Features that a query of a layer with numbers as ids finds, and that pass `filter`, too, as results list them. Throws 400 as queries do. */
export async function mapResults(
  x: Exchange,
  pools: Pools,
  layer: VectorCollection,
  { query, filter, limit }: { query: Members; filter: Expression | undefined; limit: number },
) {
  const { task, crs } = queryRequest(layer, { outFields: '*', ...query });
  const narrowed = and(task.filter, filter);
  const page = { ...task, limit, filter: narrowed };
  const { features } = await runTask(x, pools, 'vector.items', page);
  const all = featuresIn(features) as MapFeature[];
  const result = resultWriter(layer, crs);
  return all.map((feature) => ({ feature, result: result(feature) }));
}

/** Writes features as results list them: texts by the titles of the fields. */
function resultWriter(layer: VectorCollection, crs: Crs) {
  const esri = esriLayer(layer);
  const display = displayField(layer);
  const titles = new Map(esriFields(esri).map(({ name, alias }) => [name, alias]));
  const [geometryType, spatialReference] = [esriTypeOf(esri), spatialReferenceOf(crs)];
  return ({ attributes, geometry }: MapFeature) => ({
    ...{ layerId: layer.layerId, layerName: layer.title, displayFieldName: display },
    value: textOf(attributes[display]),
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [titles.get(name) ?? name, textOf(value)]),
    ),
    ...(geometry ? { geometryType, geometry: { ...geometry, spatialReference } } : {}),
  });
}

/** A value as people read it. */
export function textOf(value: unknown): string {
  if (isExactNumber(value)) return String(value);
  return value === null || value === undefined ? 'Null' : String(value);
}
