import Type from 'typebox';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { HTML_FORMAT, linkType } from '../../core/http/media.js';
import {
  declareMemo,
  defineOperation,
  type Exchange,
  type Operation,
  type Reply,
} from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { Markup } from '../../core/values/html.js';
import { parseJsonExactly } from '../../core/values/json.js';
import { featureSizes } from '../../services/features/feature-sizes.js';
import { countMatches } from '../../services/features/match-count.js';
import { type CollectionView, findView } from '../../services/features/view.js';
import * as pages from '../pages/index.js';
import { documentReply, LinkSchema, type SurfaceDeps } from '../surface/common.js';
import { pageReply } from './answer.js';
import { GML_FORMAT, ITEM_FORMATS } from './formats.js';
import { featureLinks, itemReply, readItem } from './item.js';
import type { ItemReplies, ItemReply } from './item-replies.js';
import { type PagePlan, planPage, readFirstPagePart } from './items.js';
import { pageLinks } from './page-links.js';
import { crs, featureId, featuresCollectionParam, itemsParams } from './params.js';

const COMMON = {
  surface: 'features',
  protocol: 'OGC-Features',
  permission: 'public',
  tag: 'Features',
} as const;

const FeatureSchema = Type.Object({
  type: Type.Literal('Feature'),
  id: Type.Union([Type.String(), Type.Integer()]),
  geometry: Type.Unknown(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

const FeatureCollectionSchema = Type.Object({
  type: Type.Literal('FeatureCollection'),
  features: Type.Array(FeatureSchema),
  numberMatched: Type.Optional(Type.Integer()),
  numberReturned: Type.Integer(),
  links: Type.Array(LinkSchema),
  timeStamp: Type.String({ format: 'date-time' }),
});

const itemParams = { collectionId: featuresCollectionParam, featureId, crs };

/** A page of items, with the number of matching features as far as a second allows. */
async function htmlReply(
  x: Exchange,
  { pools }: ItemDeps,
  view: CollectionView,
  plan: PagePlan,
): Promise<Reply> {
  const form = pages.itemRowsForm(x, plan.fields);
  const [page, sizes] = await Promise.all([
    readFirstPagePart(x, pools, { ...plan, task: { ...plan.task, form } }),
    featureSizes(pools, view.visible),
  ]);
  const { returned, features, last, more } = page.first;
  const { numberMatched: known } = page;
  const matched =
    known === undefined
      ? await countMatches(x, pools, view, plan.task.filter)
      : { count: known, isExact: true };
  const rows = new Markup(Buffer.from(features).toString());
  const links = pageLinks(x, page, last, more);
  return documentReply(x, undefined, () =>
    pages.buildItemsPage(x, { ...page, collection: view.visible, links, matched, sizes }, { returned, rows }),
  );
}

const OTHERS = { 'text/html': null, [linkType(GML_FORMAT)]: null, 'text/csv': null };

export interface ItemDeps extends SurfaceDeps {
  items: ItemReplies;
}

/** Reading features (OGC 17-069r4, 18-058r1, 19-079r2). */
export function createItemOperations(deps: ItemDeps): Operation[] {
  const { pools, items } = deps;
  const readOne = async (
    x: Exchange<typeof itemParams>,
    view: CollectionView,
    catalog: CatalogSnapshot,
  ): Promise<Reply> => {
    const item = await readItem(x, pools, view, x.params.featureId, x.params.crs);
    if (x.format !== HTML_FORMAT) return itemReply(x, view, catalog, item);
    const read = parseJsonExactly(item.text, ['properties']) as Parameters<typeof pages.buildItemPage>[2];
    const feature = { ...read, links: featureLinks(x, view, catalog, item) };
    return documentReply(x, undefined, () => pages.buildItemPage(x, view.visible, feature));
  };
  return [
    defineOperation({
      ...COMMON,
      id: 'features.getItems',
      method: 'GET',
      path: `${FEATURES_PATH}/collections/{collectionId}/items`,
      summary: 'Features of a collection',
      description:
        'Each queryable of the collection is also a parameter: `?name=value` selects the features with this value.',
      params: itemsParams,
      formats: ITEM_FORMATS,
      openQuery: true,
      responses: {
        200: {
          description: 'Features',
          content: { 'application/geo+json': FeatureCollectionSchema, ...OTHERS },
        },
        400: { description: 'A parameter is wrong' },
        404: { description: 'No such collection' },
      },
      async run(x) {
        const view = findView(deps, x.principal, x.params.collectionId);
        const plan = planPage(x, view, x.params);
        if (x.format !== HTML_FORMAT) return pageReply(x, pools, await readFirstPagePart(x, pools, plan));
        return htmlReply(x, deps, view, plan);
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'features.getItem',
      method: 'GET',
      path: `${FEATURES_PATH}/collections/{collectionId}/items/{featureId}`,
      summary: 'One feature',
      params: itemParams,
      formats: ITEM_FORMATS,
      responses: {
        200: { description: 'Feature', content: { 'application/geo+json': FeatureSchema, ...OTHERS } },
        404: { description: 'No such feature' },
      },
      memo: declareMemo<ItemReply>(),
      run(x) {
        const catalog = deps.visible(x.principal);
        const hit = items.find(x, catalog);
        if (hit) return hit;
        const view = findView(deps, x.principal, x.params.collectionId);
        const read = () => readOne(x, view, catalog);
        const { source } = view.collection;
        if (x.format === HTML_FORMAT || source.path === undefined) return read();
        return items.fill(x, catalog, source.path, read);
      },
    }),
  ];
}
