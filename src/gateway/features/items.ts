import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/index.js';
import {
  type FeatureOutput,
  holdsAllMatches,
  type ItemsResult,
  type ItemsTask,
  keysOnly,
  type PageKey,
} from '../../core/features/features.js';
import {
  buildCrsUri,
  type Crs,
  coordinatePrecision,
  defaultCrs,
  requireReachable,
} from '../../core/geometry/crs.js';
import { type Format, HTML_FORMAT } from '../../core/http/media.js';
import type { Exchange, Params, ParamValues } from '../../core/http/operation.js';
import type { Field } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { xmlName } from '../../core/values/xml-name.js';
import { chosenFields, selectFeatures, sortKeys } from '../../services/features/selection.js';
import type { CollectionView } from '../../services/features/view.js';
import { runTask } from '../../services/kit/run-task.js';
import { parseQuery } from '../http/requests/query.js';
import { readToken } from '../surface/page-token.js';
import { storeFormat } from './formats.js';
import { guardsFormulas, type itemsParams } from './params.js';

/** Default number of features in an HTML page, which people read. */
const HTML_PAGE = 50;
/** Bytes of features that are read and sent as one; in the first part of a longer page, which the client waits for; in the further parts. */
const WHOLE_PAGE = 262_144;
const FIRST_PART = 65_536;
const FURTHER_PART = 262_144;
/** Parts are cut by number, after what features of the collection took before; never do they exceed this many bytes. */
const MAX_OF_PART = 8 * FURTHER_PART;
/** Matches are counted only up to here, and only where that is cheap. */
const COUNTED = 10_000;
/** Maximum rows of a table that is read completely for a count. */
const SMALL_TABLE = 100_000;

/** A request for a page, read and checked. */
export interface PagePlan {
  readonly view: CollectionView;
  readonly fields: readonly Field[];
  readonly crs: Crs;
  readonly limit: number;
  readonly offset: number;
  /** Position after which the requested page starts. */
  readonly after: PageKey | undefined;
  readonly before: PageKey | undefined;
  /** True when a parameter narrows the collection. */
  readonly selects: boolean;
  readonly task: ItemsTask;
}

/** The first part of a page, which mostly is all of it. */
export interface FirstPagePart extends PagePlan {
  readonly first: ItemsResult;
  /** True when `first` is not the whole page. */
  readonly continues: boolean;
  /** True when features precede the page. */
  readonly precedes: boolean;
  readonly numberMatched: number | undefined;
}

/** Reads the parameters of a page. Throws 400. */
export function planPage(
  x: Exchange,
  view: CollectionView,
  params: Omit<ParamValues<typeof itemsParams>, 'collectionId'>,
): PagePlan {
  const { crs: outCrs, bboxCrs, filterCrs } = params;
  requireReachable({ crs: outCrs, 'bbox-crs': bboxCrs, 'filter-crs': filterCrs }, view.collection);
  const filter = selectFeatures(view, { ...params, others: otherParameters(x) });
  const sort = sortKeys(view, params.sortby);
  const fields = chosenFields(view, params.properties);
  const token = params.token === undefined ? undefined : readToken(params.token, sort.length);
  const html = x.format === HTML_FORMAT;
  const limit = html && !params.limit.given ? HTML_PAGE : params.limit.value;
  const crs = outCrs ?? defaultCrs(view.collection);
  const { source } = view;
  const after = token?.direction === 'after' ? token.key : undefined;
  return {
    view,
    fields,
    crs,
    limit,
    offset: params.offset,
    after,
    before: token?.direction === 'before' ? token.key : undefined,
    selects: filter !== view.rows,
    task: {
      source,
      filter,
      ...createFeatureOutput(x, view, x.format, crs, fields),
      ...(sort.length > 0 ? { sort } : {}),
      ...(after ? { after } : {}),
      ...(html ? { skipGeometry: true } : { maxBytes: MAX_OF_PART }),
      limit,
      offset: params.offset,
    },
  };
}

/** Output options for the store, for features of this view. */
export function createFeatureOutput(
  x: Pick<Exchange, 'baseUrl' | 'format' | 'params'>,
  view: CollectionView,
  format: Format,
  crs: Crs,
  fields: readonly Field[],
): FeatureOutput {
  const whole = fields === view.collection.source.fields;
  return {
    format: storeFormat(format),
    crs: crs.proj,
    swapAxes: crs.northFirst,
    precision: coordinatePrecision(crs),
    ...(guardsFormulas(x) ? { guardsFormulas: true } : {}),
    ...(whole ? {} : { fields: fields.map(({ name }) => name) }),
    ...(storeFormat(format) === 'gml'
      ? { gml: { type: xmlName(view.collection.id), srsName: buildCrsUri(crs, x.baseUrl) } }
      : {}),
  };
}

/** Query parameters that the operation does not declare. */
export function otherParameters(x: Exchange): Map<string, string> {
  const others = parseQuery(x.query);
  others.delete('f');
  for (const { name } of Object.values(x.operation.params as Params)) others.delete(name);
  return others;
}

/** Reads the first part of a page, and counts matches where that is cheap. */
export async function readFirstPagePart(x: Exchange, pools: Pools, plan: PagePlan): Promise<FirstPagePart> {
  const size = featureSize(plan);
  const limit =
    plan.limit * size <= WHOLE_PAGE ? plan.limit : Math.min(plan.limit, computeShare(FIRST_PART, size));
  const first = await runTask(x, pools, 'vector.items', {
    ...plan.task,
    ...(plan.before ? { endsBefore: { key: plan.before, limit: plan.limit } } : {}),
    // Pages count for a limited time instead.
    ...(x.format !== HTML_FORMAT && countsMatches(plan) ? { countAtMost: COUNTED } : {}),
    limit: x.format === HTML_FORMAT ? plan.limit : limit,
  });
  noteSize(plan, first);
  const continues = first.more && first.returned < plan.limit;
  const { start } = first;
  const task = start ? { ...plan.task, ...start, offset: 0 } : plan.task;
  const precedes = task.after !== undefined || task.offset > 0;
  return { ...plan, task, first, continues, precedes, numberMatched: findNumberMatched(plan, task, first) };
}

/** Estimated bytes of a feature for each collection, from earlier responses, so that parts have a reasonable size. */
const sizes = new WeakMap<VectorCollection, Map<string, number>>();
const UNKNOWN_SIZE = 400;
const MIN_OF_PART = 20;

const sizeKey = ({ task }: PagePlan) => `${task.form?.kind ?? task.format} ${task.fields?.length ?? 'all'}`;

function featureSize(plan: PagePlan): number {
  return sizes.get(plan.view.collection)?.get(sizeKey(plan)) ?? UNKNOWN_SIZE;
}

function noteSize(plan: PagePlan, { features, returned }: ItemsResult): void {
  if (returned === 0) return;
  let bytes = sizes.get(plan.view.collection);
  if (!bytes) sizes.set(plan.view.collection, (bytes = new Map()));
  const key = sizeKey(plan);
  const size = features.length / returned;
  bytes.set(key, ((bytes.get(key) ?? size) + size) / 2);
}

/** Features that make about this many bytes. */
function computeShare(bytes: number, size: number): number {
  return Math.max(MIN_OF_PART, Math.floor(bytes / size));
}

export type PageEnd = Pick<ItemsResult, 'returned' | 'last' | 'more'>;

/** The end of a page, determined before the page is read, for responses that announce it first. */
export function readEnd(x: Exchange, pools: Pools, { task, limit }: FirstPagePart): Promise<PageEnd> {
  return runTask(x, pools, 'vector.items', { ...keysOnly(task), limit });
}

/** Whether the collection itself knows the number of matching features. */
const isKnown = ({ view, selects }: PagePlan) =>
  !selects && view.rows === undefined && !view.collection.countEstimated;

/**
 * Whether matches are counted together with the page: only if an index can count them or the table is small. A large
 * table is never read completely just to count.
 */
function countsMatches(plan: PagePlan): boolean {
  if (isKnown(plan)) return false;
  return (plan.view.collection.featureCount ?? 0) <= SMALL_TABLE || isWindow(plan.task.filter);
}

/**
 * Total number of matching features: known for a whole collection or if the page contains all of them, otherwise
 * counted or unknown.
 */
function findNumberMatched(plan: PagePlan, task: ItemsTask, first: ItemsResult): number | undefined {
  if (isKnown(plan)) return plan.view.collection.featureCount;
  if (holdsAllMatches(task, first)) return task.offset + first.returned;
  const { matched } = first;
  return matched !== undefined && matched < COUNTED ? matched : undefined;
}

/** Whether the filter is only a bounding box. */
function isWindow(filter: Expression | undefined): boolean {
  return filter?.op === 's_intersects' && typeof filter.args[1] === 'object' && 'bbox' in filter.args[1];
}

function nextPart(page: FirstPagePart, { last }: ItemsResult, left: number): ItemsTask {
  const limit = Math.min(left, computeShare(FURTHER_PART, featureSize(page)));
  return { ...page.task, limit, offset: 0, after: last! };
}

/**
 * Yields the parts of the page. The next part is read while the client receives the previous one. Returns the last
 * part.
 */
export async function* readParts(
  x: Exchange,
  pools: Pools,
  page: FirstPagePart,
): AsyncGenerator<ItemsResult> {
  let part = page.first;
  let left = page.limit - part.returned;
  for (;;) {
    const goesOn = part.more && left > 0 && part.last !== undefined;
    const next = goesOn
      ? runTask(x, pools, 'vector.items', nextPart(page, part, left), { begun: true })
      : undefined;
    // A failure is met where it is awaited, not before.
    next?.catch(() => {});
    yield part;
    if (!next) return;
    part = await next;
    noteSize(page, part);
    left -= part.returned;
  }
}
