import type { Expression } from '../../core/cql2/ast.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { SortKey } from '../../core/features/features.js';
import type { FederatedKind, FederatedSource } from '../../core/federation/federated-source.js';
import { type FoundBox, type PushedQuery, splitFederatedQuery } from '../../core/federation/push-down.js';
import { currentTask } from '../../core/observability/task-scope.js';
import type { RemoteAccess } from '../exchange/ingest/http.js';
import { findNearby } from '../providers/conjuncts.js';
import { computeLiteralBoxes } from '../providers/spatial-literal.js';
import { geoServicesProtocol } from './geoservices.js';
import { FEDERATION_LIMITS } from './limits.js';
import { ogcFeaturesProtocol } from './ogc-features.js';
import { type FederatedPage, type FederatedProtocol, IDS_OF_PAGE, nameFederatedSource } from './protocol.js';
import type { StagedFeature } from './staging.js';

const PROTOCOLS: Readonly<Record<FederatedKind, FederatedProtocol>> = {
  OgcFeatures: ogcFeaturesProtocol,
  EsriRest: geoServicesProtocol,
};

export const findProtocol = (kind: FederatedKind): FederatedProtocol => PROTOCOLS[kind];

/** The part of a query that its source evaluates. */
export const pushToSource = (
  source: FederatedSource,
  filter: Expression | undefined,
  sort?: readonly SortKey[],
): PushedQuery => splitFederatedQuery(source, filter, sort, findBox);

/** The box of a spatial condition, if there is exactly one in CRS84. */
function findBox(source: FederatedSource, condition: Expression): FoundBox | undefined {
  const near = findNearby(source, condition);
  if (!near || near.metres !== undefined) return undefined;
  const [box, ...others] = computeLiteralBoxes(near.literal, source);
  if (!box || others.length > 0) return undefined;
  return { box, isExact: condition.op === 's_intersects' && 'bbox' in near.literal };
}

/** A page with the position at which it starts. */
export interface ReadPage extends Omit<FederatedPage, 'features'> {
  readonly position: string | undefined;
  readonly features: readonly StagedFeature[];
}

interface ReadOptions {
  readonly position?: string | undefined;
  /** Number of features of the first page. Default: a full page. */
  readonly size?: number;
  readonly asking: RemoteAccess;
}

/** Pages of a query, from a position on, within the limits of one request. */
export async function* readPages(
  source: FederatedSource,
  query: PushedQuery,
  { position: start, size, asking }: ReadOptions,
): AsyncGenerator<ReadPage> {
  const { id, pageSize } = source.federation;
  let position = start;
  let features = 0;
  let bytes = 0;
  for (let requests = 1; ; requests++) {
    const page = await readOne(source, query, position, Math.min(size ?? pageSize, pageSize), asking);
    features += page.features.length;
    bytes += page.features.reduce((sum, one) => sum + one.geometry.length + one.properties.length, 0);
    yield { ...page, position, features: page.features.map((one) => ({ ...one, crs: page.crs })) };
    if (page.next === undefined) return;
    const { federatedFeatures, federatedBytes, federatedRequests } = FEDERATION_LIMITS;
    if (features >= federatedFeatures || bytes >= federatedBytes || requests >= federatedRequests)
      throw new TaskFailure(
        'too-large',
        `The source '${id}' has too many features for this request: the server read ${features} of them. Narrow the request with bbox, or with a filter that the source evaluates.`,
      );
    position = page.next;
  }
}

function readOne(
  source: FederatedSource,
  query: PushedQuery,
  position: string | undefined,
  size: number,
  asking: RemoteAccess,
): Promise<FederatedPage> {
  const protocol = findProtocol(source.federation.kind);
  const { ids } = query;
  if (ids === undefined)
    return recorded(source, () => protocol.readPage(source, query, { position, size }, asking));
  const from = Number(position ?? 0);
  const to = from + IDS_OF_PAGE;
  return recorded(source, async () => ({
    ...(await protocol.readIds(source, ids.slice(from, to), asking)),
    next: to < ids.length ? String(to) : undefined,
  }));
}

/** The features with an id: one, or none. */
export async function readById(
  source: FederatedSource,
  id: string,
  asking: RemoteAccess,
): Promise<readonly StagedFeature[]> {
  const { kind } = source.federation;
  const { features, crs } = await recorded(source, () => findProtocol(kind).readIds(source, [id], asking));
  return features.map((one) => ({ ...one, crs }));
}

/** Measures requests to a source, and names the source in failures. */
async function recorded(
  { federation: { id } }: FederatedSource,
  read: () => Promise<FederatedPage>,
): Promise<FederatedPage> {
  const start = performance.now();
  const note = (outcome: 'success' | 'failure', rows: number) =>
    currentTask()?.remoteReads.push({ source: id, outcome, durationMs: performance.now() - start, rows });
  try {
    const page = await read();
    note('success', page.features.length);
    return page;
  } catch (error) {
    note('failure', 0);
    throw nameFederatedSource(id, error);
  }
}
