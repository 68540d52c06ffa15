import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/index.js';
import type {
  FederatedAbility,
  FederatedSetting,
  FederatedSource,
} from '../../core/federation/federated-source.js';
import type { PushedQuery } from '../../core/federation/push-down.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { checkFilter, parseFilter } from '../filters/filters.js';

export interface FederationDeps {
  readonly sources: readonly FederatedSetting[];
  readonly pools: Pools;
  catalog(): CatalogSnapshot;
}

/** A query as an operator sketches it. */
export interface SampleQuery {
  /** CQL2 text. */
  readonly where: string | undefined;
  readonly bbox: boolean;
  readonly joinLocal: boolean;
}

export interface FederationDecision {
  readonly predicate: 'AttributeFilter' | 'SpatialFilter' | 'TemporalFilter' | 'OrderBy' | 'Paging';
  readonly pushedDown: boolean;
  readonly reason: string;
}

export interface FederationPlan {
  readonly requiresLocalJoin: boolean;
  readonly requiresLocalRefinement: boolean;
  readonly decisions: readonly FederationDecision[];
}

/** Milliseconds for which the documents of a source that is not published are taken for current. */
const MAX_AGE_MS = 600_000;
const DESCRIBE_DEADLINE_MS = 30_000;
const PLAN_DEADLINE_MS = 10_000;

/** Federated sources, and the parts of queries that they evaluate. */
export class Federation {
  readonly #deps: FederationDeps;
  readonly #described = new Map<string, { readonly at: number; readonly source: FederatedSource }>();

  constructor(deps: FederationDeps) {
    this.#deps = deps;
  }

  get sources(): readonly FederatedSetting[] {
    return this.#deps.sources;
  }

  /** The plan of a query. Undefined for an unknown source. Throws 400 for a wrong filter. */
  async plan(id: string, sample: SampleQuery): Promise<FederationPlan | undefined> {
    const setting = this.#deps.sources.find((one) => one.id === id);
    if (!setting) return undefined;
    const source = this.#findPublished(id) ?? (await this.#describe(setting));
    const { abilities } = source.federation;
    const filter =
      sample.where === undefined
        ? undefined
        : checkFilter('where', parseFilter('where', { text: sample.where, language: 'cql2-text' }), {
            ...source,
            filterCrs: CRS84,
          });
    const decisions = [
      ...(await this.#decideFilters(source, filter, sample.bbox)),
      { predicate: 'OrderBy' as const, ...abilities.order },
      { predicate: 'Paging' as const, ...abilities.paging },
    ].map(({ predicate, pushedDown, reason }) => ({ predicate, pushedDown, reason }));
    const isRefined = filter !== undefined && !(await this.#push(source, filter)).isExact;
    return { requiresLocalJoin: sample.joinLocal, requiresLocalRefinement: isRefined, decisions };
  }

  #push(source: FederatedSource, filter: Expression): Promise<PushedQuery> {
    return this.#deps.pools.run('vector.pushDown', { source, filter }, { deadlineMs: PLAN_DEADLINE_MS });
  }

  /** Decisions about the parts of a filter. Without a filter: about any filter. */
  async #decideFilters(
    source: FederatedSource,
    filter: Expression | undefined,
    hasBox: boolean,
  ): Promise<FederationDecision[]> {
    const { abilities } = source.federation;
    if (filter === undefined)
      return [
        { predicate: 'AttributeFilter', ...abilities.attributes },
        { predicate: 'SpatialFilter', ...abilities.spatial },
        { predicate: 'TemporalFilter', ...abilities.temporal },
      ];
    const { attributes, times, bbox } = await this.#push(source, filter);
    return [
      decide('AttributeFilter', abilities.attributes, attributes.length > 0, 'on attributes'),
      decide('SpatialFilter', abilities.spatial, hasBox || bbox !== undefined, 'with one bounding box'),
      decide('TemporalFilter', abilities.temporal, times.length > 0, 'on times'),
    ];
  }

  #findPublished(id: string): FederatedSource | undefined {
    for (const collection of this.#deps.catalog().collections) {
      if (!hasFeatures(collection)) continue;
      const source = collection.source as Partial<FederatedSource>;
      if (source.federation?.id === id) return collection.source as FederatedSource;
    }
    return undefined;
  }

  async #describe(setting: FederatedSetting): Promise<FederatedSource> {
    const known = this.#described.get(setting.id);
    if (known && Date.now() - known.at < MAX_AGE_MS) return known.source;
    const options = { deadlineMs: DESCRIBE_DEADLINE_MS };
    const layer = await this.#deps.pools.run('vector.federated', { path: setting.url, setting }, options);
    const source = layer.source as FederatedSource;
    this.#described.set(setting.id, { at: Date.now(), source });
    return source;
  }
}

function decide(
  predicate: FederationDecision['predicate'],
  { pushedDown, reason }: FederatedAbility,
  isUsed: boolean,
  about: string,
): FederationDecision {
  if (!pushedDown || isUsed) return { predicate, pushedDown, reason };
  const missing = `the filter has no condition ${about} that the source can evaluate`;
  return { predicate, pushedDown: false, reason: missing };
}
