import { and, bboxFilter, type Expression } from '../../core/cql2/index.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type {
  FeatureQuery,
  FeatureRow,
  ItemsResult,
  ItemsTask,
  PageKey,
} from '../../core/features/features.js';
import type { FederatedSource } from '../../core/federation/federated-source.js';
import { around } from '../../core/geometry/box.js';
import type { GeoPackageSource, VectorSource } from '../../core/sources/vector-source.js';
import type { RemoteAccess } from '../exchange/ingest/http.js';
import { boxesInSource } from '../providers/boxes.js';
import type { FeatureStore } from '../providers/feature-store.js';
import { statement } from '../providers/geopackage/connection.js';
import { passingRows } from '../providers/geopackage/queries/filter.js';
import { ROW_COLUMN } from '../providers/geopackage/schema/create.js';
import { geopackageStore } from '../providers/geopackage/store.js';
import { findSceneWindow } from '../providers/scene-options.js';
import { tileWindow } from '../providers/window.js';
import type { AllowedHosts } from '../storage/remote/allowed-hosts.js';
import { Cancellation } from '../threads/cancellation.js';
import { pushToSource, type ReadPage, readById, readPages } from './source-pages.js';
import { type StagedFeature, withStaged } from './staging.js';

/** Layers of other servers, which are queried there. Whatever they do not evaluate is computed here. */
export function createFederatedStore(allowed: AllowedHosts): FeatureStore {
  const ask = (cancellation = new Cancellation()): RemoteAccess => ({ allowed, cancellation });
  /** Reads the features that can pass a filter, and runs `work` on them as a table. */
  const gather = async <T>(
    { source, filter }: FeatureQuery,
    cancellation: Cancellation | undefined,
    work: (staged: GeoPackageSource) => T | Promise<T>,
  ): Promise<T> => {
    const federated = source as FederatedSource;
    const features: StagedFeature[] = [];
    const query = pushToSource(federated, filter);
    for await (const page of readPages(federated, query, { asking: ask(cancellation) }))
      features.push(...page.features);
    return withStaged(federated, features, work);
  };
  const { groups, groupCount, top, losses, encodeScene } = geopackageStore as Required<
    typeof geopackageStore
  >;
  return {
    items: (task, cancellation) =>
      isStreamed(task)
        ? readStream(task, ask(cancellation))
        : gather(task, cancellation, (source) => writePage({ ...task, source })),
    async item(task, cancellation) {
      const source = task.source as FederatedSource;
      const features = await readById(source, task.id, ask(cancellation));
      return withStaged(source, features, (staged) => geopackageStore.item({ ...task, source: staged }));
    },
    async count(task, cancellation) {
      const source = task.source as FederatedSource;
      const query = pushToSource(source, task.filter);
      if (query.isExact && query.ids === undefined) {
        const pages = readPages(source, query, { size: 1, asking: ask(cancellation) });
        const { value } = await pages.next();
        if (value?.matched !== undefined) return Math.min(value.matched, task.atMost ?? Infinity);
      }
      return gather(task, cancellation, (staged) => geopackageStore.count({ ...task, source: staged }));
    },
    losses: (task, cancellation) => gather(task, cancellation, (source) => losses({ ...task, source })),
    groups: (task, cancellation) => gather(task, cancellation, (source) => groups({ ...task, source })),
    groupCount: (task, cancellation) =>
      gather(task, cancellation, (source) => groupCount({ ...task, source })),
    top: (task, cancellation) => gather(task, cancellation, (source) => top({ ...task, source })),
    tileLayer(task, layer, cancellation) {
      const { source } = layer;
      const window = bboxFilter(source.geometryColumn, tileWindow(source, task), source.crs);
      const query = { source, filter: and(window, layer.filter) };
      return gather(query, cancellation, (staged) =>
        geopackageStore.tileLayer(task, { ...layer, source: staged }),
      );
    },
    encodeScene(task, cancellation) {
      const { source } = task;
      const window = findSceneWindow(task);
      const box = window && boxesInSource(source, window, 'EPSG:4326').reduce(around);
      const near = box && bboxFilter(source.geometryColumn, box, source.crs);
      const query = { source, filter: and(near, task.filter) };
      return gather(query, cancellation, (staged) => encodeScene({ ...task, source: staged }));
    },
    // Sources have no spatial index for many boxes.
    occupied: async (_source, boxes) => boxes.map(() => true),
    async extent(query, cancellation) {
      const { extent } = (query.source as FederatedSource).federation;
      if (query.filter === undefined) return extent ? { extent, extent84: extent } : {};
      return gather(query, cancellation, (source) => geopackageStore.extent({ ...query, source }));
    },
    async *rows(query, cancellation): AsyncGenerator<FeatureRow[]> {
      yield* await gather(query, cancellation, async (source) => {
        const batches: FeatureRow[][] = [];
        for await (const batch of geopackageStore.rows({ ...query, source })) batches.push(batch);
        return batches;
      });
    },
    edit: async ({ source }) => {
      throw new TaskFailure(
        'invalid-input',
        `${source.table} is a layer of another server, and can only be read.`,
      );
    },
    events: async () => ({ events: [], newest: 0 }),
  };
}

/** A page of features that were all read, with their number. */
async function writePage(task: ItemsTask): Promise<ItemsResult> {
  const { source, filter, countAtMost: atMost } = task;
  const page = await geopackageStore.items(task);
  if (atMost === undefined) return page;
  return { ...page, matched: await geopackageStore.count({ source, filter, atMost }) };
}

/** Whether a page can be read in the order of the source: without a sort order, or with one that the source has. */
function isStreamed({ source, filter, sort }: ItemsTask): boolean {
  return !sort?.length || pushToSource(source as FederatedSource, filter, sort).order !== undefined;
}

/** A place in the order of the source: after `skip` features of the page at `position`, and `before` passing features. */
interface Place {
  readonly position: string | undefined;
  readonly skip: number;
  readonly before: number;
}

const FIRST: Place = { position: undefined, skip: 0, before: 0 };

interface FoundFeature {
  readonly feature: StagedFeature;
  /** The place after it. */
  readonly place: Place;
}

/** Reads a page in the order of the source, from the pages of the source. */
async function readStream(task: ItemsTask, asking: RemoteAccess): Promise<ItemsResult> {
  const source = task.source as FederatedSource;
  const { before, limit } = task;
  const start = before || !task.after ? FIRST : readPlace(task.after);
  // A page before a key is read from the first feature, because sources have no order to read backwards.
  const end = before && readPlace(before).before - 1;
  const offset = end === undefined ? task.offset : Math.max(0, end - limit);
  const wanted = end ?? offset + limit;
  const query = pushToSource(source, task.filter, task.sort);
  const found: FoundFeature[] = [];
  let { skip } = start;
  let more = false;
  if (wanted === 0) return { features: new Uint8Array(0), returned: 0, more: false };
  let matched = task.countAtMost;
  // If the source leaves a part of the filter to this server, most features of a small page could be omitted.
  const size = query.isExact ? { size: wanted + 1 } : {};
  for await (const page of readPages(source, query, { position: start.position, asking, ...size })) {
    // Otherwise the number stays unknown: counting would take further requests.
    if (query.isExact && page.matched !== undefined && matched !== undefined)
      matched = Math.min(matched, page.matched);
    const skipped = Math.min(skip, page.features.length);
    skip -= skipped;
    const passing = await findPassing(source, page.features, task.filter);
    const rest = passing.filter((index) => index >= skipped);
    const room = wanted - found.length;
    for (const index of rest.slice(0, room))
      found.push(createFound(page, index, start.before + found.length + 1));
    more = rest.length > room || (rest.length === room && page.next !== undefined);
    // If each feature passes, the next page of the source shows whether there is one more.
    if (rest.length > room || (rest.length === room && !query.isExact)) break;
  }
  let shown = found.slice(offset);
  let result = await writeFeatures(task, source, shown);
  // A page that is cut because of its bytes must still end before the key.
  while (end !== undefined && result.returned < shown.length) {
    shown = shown.slice(shown.length - result.returned);
    result = await writeFeatures(task, source, shown);
  }
  const written = shown.slice(0, result.returned);
  const keyOf = (place: Place): PageKey => ({
    id: JSON.stringify([place.position ?? null, place.skip, place.before]),
    values: (task.sort ?? []).map(() => null),
  });
  // An empty page starts after the key, so the page before it ends with the feature of the key.
  const first = written[0]?.place ?? (task.after && { ...start, before: start.before + 1 });
  const last = written.at(-1)?.place ?? first;
  return {
    features: result.features,
    returned: result.returned,
    more: end === undefined ? result.returned < shown.length || more : end > shown.length,
    ...(first && last ? { first: keyOf(first), last: keyOf(last) } : {}),
    ...(matched === undefined ? {} : { matched }),
  };
}

function createFound(page: ReadPage, index: number, before: number): FoundFeature {
  const isLast = index === page.features.length - 1 && page.next !== undefined;
  const place = isLast ? { position: page.next, skip: 0 } : { position: page.position, skip: index + 1 };
  return { feature: page.features[index]!, place: { ...place, before } };
}

function readPlace({ id }: PageKey): Place {
  try {
    const [position, skip, before] = JSON.parse(id) as [unknown, unknown, unknown];
    const isPlace = (position === null || typeof position === 'string') && isCount(skip) && isCount(before);
    if (isPlace) return { position: position ?? undefined, skip, before } as Place;
  } catch {
    // The error below is sent.
  }
  throw new TaskFailure('invalid-input', 'token: must be a token of a next or prev link of this listing.');
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Indexes of the features that pass the filter. */
function findPassing(
  source: FederatedSource,
  features: readonly StagedFeature[],
  filter: Expression | undefined,
): Promise<readonly number[]> {
  if (filter === undefined) return Promise.resolve(features.map((_, i) => i));
  return withStaged(source, features, (staged) => {
    const { sql, values } = passingRows(staged, filter);
    const rows = statement(staged.path, `SELECT row FROM (${sql}) ORDER BY row`).pluck();
    return rows.all(...values) as number[];
  });
}

/** Writes features in their order. */
function writeFeatures(
  { after: _, before: _1, countAtMost: _2, ...task }: ItemsTask,
  source: FederatedSource,
  found: readonly FoundFeature[],
): Promise<Pick<ItemsResult, 'features' | 'returned'>> {
  if (found.length === 0) return Promise.resolve({ features: new Uint8Array(0), returned: 0 });
  return withStaged(
    source,
    found.map(({ feature }) => feature),
    (staged) =>
      geopackageStore.items({
        ...task,
        source: staged as VectorSource,
        filter: undefined,
        sort: [{ field: ROW_COLUMN, descending: false }],
        offset: 0,
        limit: found.length,
      }),
  );
}
