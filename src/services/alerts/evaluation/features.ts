import type { VectorCollection } from '../../../core/catalog/collection.js';
import { type Expression, idsFilter } from '../../../core/cql2/index.js';
import { type FeatureText, featureTexts } from '../../../core/edits/feature-text.js';
import type { PageKey } from '../../../core/features/features.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { FeatureRevision } from './rule-matches.js';

/** Features that are read together. Fewer of them keep the turns of the event loop short. */
const PAGE = 400;
/** Digits of coordinates: about a micrometre. */
const DECIMALS = 11;

export interface FeaturePage {
  readonly features: readonly FeatureRevision[];
  /** Key of the last feature. Undefined if no page follows. */
  readonly next: PageKey | undefined;
}

/** Reads a page of the features of a layer as its store has them, whoever may read them. */
export async function readPage(
  collection: VectorCollection,
  filter: Expression | undefined,
  after: PageKey | undefined,
  at: number,
  pools: Pools,
): Promise<FeaturePage> {
  const page = await pools.run(
    'vector.items',
    {
      source: collection.rule?.stored ?? collection.source,
      format: 'geojson',
      crs: CRS84.proj,
      swapAxes: false,
      precision: DECIMALS,
      filter,
      ...(after ? { after } : {}),
      limit: PAGE,
      offset: 0,
    },
    { deadlineMs: LIMITS.requestDeadlineMs },
  );
  const features = featureTexts(page.features).map((text) => buildRevision(text, at));
  return { features, next: page.more ? page.last : undefined };
}

function buildRevision({ id, geometry, properties }: FeatureText, at: number): FeatureRevision {
  const image = { id, geometry: geometry === 'null' ? null : geometry, attributes: properties };
  return { featureId: id, before: undefined, after: image, at, changedAttributes: [] };
}

/** Reads features by their ids. One that does not exist has no `after`. */
export async function readFeatures(
  collection: VectorCollection,
  ids: readonly string[],
  at: number,
  pools: Pools,
): Promise<readonly FeatureRevision[]> {
  const filter = idsFilter(collection.rule?.stored ?? collection.source, ids);
  const found = new Map<string, FeatureRevision>();
  for (let next: PageKey | undefined; ; ) {
    const page = await readPage(collection, filter, next, at, pools);
    for (const one of page.features) found.set(one.featureId, one);
    next = page.next;
    if (!next) break;
  }
  return ids.map(
    (featureId) =>
      found.get(featureId) ?? { featureId, before: undefined, after: null, at, changedAttributes: [] },
  );
}
