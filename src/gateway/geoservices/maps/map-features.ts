import type { VectorCollection } from '../../../core/catalog/collection.js';
import { and, type Expression } from '../../../core/cql2/index.js';
import type { MapSearch } from '../../../core/features/map-results.js';
import { esriFields, findEsriGeometryType } from '../../../core/geoservices/geoservices-features.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { runTask } from '../../../services/kit/run-task.js';
import { esriLayer } from '../../../services/replicas/layer-view.js';
import { queryRequest } from '../features/query-request.js';
import { textReply } from '../images/in-band.js';
import { createSpatialReference, displayField } from '../layer-documents.js';
import type { Members } from '../members.js';

/** Features of map services one by one, as `identify` and `find` list them. */

/** Maximum number of features in one response. */
export const MAX_RESULTS = 1000;

/** Results of one layer. */
export interface MapLayerResults {
  /** Features as JSON, separated by commas. */
  readonly text: string;
  readonly count: number;
}

interface ResultsQuery {
  readonly query: Members;
  readonly filter: Expression | undefined;
  readonly limit: number;
  readonly search?: MapSearch;
  readonly pretty: boolean;
}

/** Features that match a query of a layer with numeric ids, and `filter`. Throws 400 as queries do. */
export async function mapResults(
  x: Exchange,
  pools: Pools,
  layer: VectorCollection,
  { query, filter, limit, search, pretty }: ResultsQuery,
): Promise<MapLayerResults> {
  const { task, crs } = queryRequest(layer, { outFields: '*', ...query });
  const esri = esriLayer(layer);
  const form = {
    kind: 'map-results' as const,
    layerId: layer.layerId,
    layerName: layer.title,
    pretty,
    displayField: displayField(layer),
    titles: Object.fromEntries(esriFields(esri).map(({ name, alias }) => [name, alias])),
    geometryType: findEsriGeometryType(esri),
    spatialReference: createSpatialReference(crs),
    ...(search ? { search } : {}),
  };
  const page = { ...task, limit, filter: and(task.filter, filter), form };
  const { features, returned } = await runTask(x, pools, 'vector.items', page);
  return { text: Buffer.from(features).toString(), count: returned };
}

/** Results of several layers as JSON, separated by commas. */
export function joinResults(layers: readonly MapLayerResults[]): string {
  return layers
    .filter(({ count }) => count > 0)
    .map(({ text }) => text)
    .join();
}

/** The document of results, the first layer's first. */
export function createMapResultsReply(layers: readonly MapLayerResults[], pretty: boolean): Reply {
  const results = joinResults(layers);
  return textReply(pretty ? `{\n  "results": [${results}]\n}` : `{"results":[${results}]}`);
}
