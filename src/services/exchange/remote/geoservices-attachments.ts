import { randomUUID } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import { type CatalogSnapshot, type VectorCollection, whole } from '../../../core/catalog/collection.js';
import { equalsAny } from '../../../core/cql2/index.js';
import { featureTexts } from '../../../core/edits/feature-text.js';
import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { formatDetail } from '../../../core/errors/field-errors.js';
import type { GeoServicesAttachment, RemoteRequest } from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { exactInteger } from '../../../core/values/exact-number.js';
import { decodeStoredJson } from '../../../core/values/json.js';
import { membersIn } from '../../../core/values/json-text.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import type { AttachmentStore } from '../../../stores/attachments/attachments.js';
import { checkFile, withFile } from '../../attachments/intake.js';
import type { Attachments } from '../../attachments/service.js';
import type { JobContext } from '../../jobs/kinds.js';
import type { RemoteInput } from '../import-input.js';
import type { AttachmentCounts, GeoServicesLayerNotes, GeoServicesSource } from './geoservices-source.js';
import { askAgain } from './retries.js';
import { shownCollection } from './shown-collection.js';
import { IMPORT } from './source-style.js';

type Context = JobContext<RemoteInput<GeoServicesSource>>;

/** Features whose attachments are listed together, and downloads at a time. */
const FEATURES = 200;
const AT_ONCE = 4;
/** Number of consecutive failures after which the import requests no more attachments. */
const PATIENCE = 20;
/** Reasons that a warning names. */
const REASONS = 3;

export interface AttachmentImportDeps {
  readonly pools: Pick<Pools, 'run'>;
  readonly attachments: Pick<Attachments, 'bring'>;
  readonly store: Pick<AttachmentStore, 'hasOrigin'>;
  catalog(): CatalogSnapshot;
}

/** Brings the attachments of a layer of GeoServices to the features that it became. May be called again. */
export class AttachmentImport {
  constructor(private readonly deps: AttachmentImportDeps) {}

  async run(context: Context, folder: string, request: RemoteRequest): Promise<AttachmentCounts> {
    const notes = decodeStoredJson(
      await readFile(join(folder, 'layer.json'), 'utf8'),
    ) as GeoServicesLayerNotes;
    const { layer, columns } = notes;
    const counts: AttachmentCounts = { processed: 0, failed: 0 };
    if (!layer.hasAttachments) return counts;
    const key = columns.find(({ field }) => field === layer.objectIdField);
    if (!key) {
      await context.warn(
        'The layer has attachments, which were left behind: its object ids were not imported.',
      );
      return counts;
    }
    const { catalog } = this.deps;
    const collection = await shownCollection(catalog, context.input.table, hasFeatures, context.signal);
    const run = new Run(this.deps, { context, folder, request, counts, collection, key: key.name });
    await run.all();
    return counts;
  }
}

interface Job {
  readonly context: Context;
  readonly folder: string;
  readonly request: RemoteRequest;
  readonly counts: AttachmentCounts;
  readonly collection: VectorCollection;
  /** Column of the object ids. */
  readonly key: string;
}

class Run {
  readonly #reasons: string[] = [];
  #bytes = 0;
  #failures = 0;

  constructor(
    private readonly deps: AttachmentImportDeps,
    private readonly job: Job,
  ) {}

  async all(): Promise<void> {
    const { counts, context, folder } = this.job;
    const ids = await idsIn(join(folder, 'ids'));
    for (let from = 0; from < ids.length && !this.#isOver; from += FEATURES)
      await this.#some(Array.from(ids.subarray(from, from + FEATURES), String));
    if (this.#isOver) this.#reasons.unshift(`The import ended behind ${counts.processed} of them.`);
    if (counts.failed === 0 && this.#reasons.length === 0) return;
    const words = this.#reasons.slice(0, REASONS + 1).join(' ');
    await context.warn(`${counts.failed} attachments were left behind. ${words}`.trim());
  }

  get #isOver(): boolean {
    const { processed } = this.job.counts;
    return (
      this.#failures >= PATIENCE ||
      processed >= EXCHANGE_LIMITS.importedAttachments ||
      this.#bytes >= EXCHANGE_LIMITS.importedAttachmentBytes
    );
  }

  async #some(objectIds: string[]): Promise<void> {
    let list: GeoServicesAttachment[];
    try {
      list = await this.#ask('ingest.geoservicesAttachments', { ...this.job.request, objectIds });
    } catch (error) {
      if (!(error instanceof TaskFailure) || this.job.context.signal.aborted) throw error;
      this.#failures = PATIENCE;
      this.#reasons.push(`They could not be listed: ${error.message}`);
      return;
    }
    if (list.length === 0) return;
    const features = await this.#featuresOf([...new Set(list.map(({ objectId }) => objectId))]);
    await mapInLanes(list, AT_ONCE, (one) => this.#one(one, features.get(one.objectId)));
  }

  async #one(attachment: GeoServicesAttachment, featureId: string | undefined): Promise<void> {
    const { context, counts } = this.job;
    if (this.#isOver) return;
    try {
      await this.#bring(attachment, featureId);
      counts.processed++;
      this.#failures = 0;
    } catch (error) {
      const isTold = error instanceof TaskFailure || error instanceof ApiError;
      if (!isTold || context.signal.aborted) throw error;
      counts.failed++;
      // Only task failures count: an error in one file does not concern the next one.
      if (error instanceof TaskFailure) this.#failures++;
      const { id, objectId } = attachment;
      if (this.#reasons.length < REASONS)
        this.#reasons.push(`Attachment ${id} of the feature ${objectId}: ${describeReason(error)}`);
    }
  }

  async #bring(
    { id, objectId, name, mediaType, size, keywords }: GeoServicesAttachment,
    featureId: string | undefined,
  ): Promise<void> {
    const { context, collection, folder } = this.job;
    const { attachments, store } = this.deps;
    if (featureId === undefined) throw new ApiError('not-found', 'its feature does not exist.');
    const origin = `${context.id}:${objectId}:${id}`;
    if (await store.hasOrigin(collection.id, origin)) return;
    if ((size ?? 0) > LIMITS.attachmentBytes)
      throw new ApiError('payload-too-large', `it has more than ${LIMITS.attachmentBytes} bytes.`);
    const path = join(folder, `attachment-${randomUUID()}`);
    await withFile(path, async () => {
      const { bytes } = await this.#ask('ingest.download', {
        ...buildDownload(this.job.request, `${objectId}/attachments/${id}`),
        path,
        maxBytes: LIMITS.attachmentBytes,
      });
      this.#bytes += bytes;
      // A failure reported with status 200 is a document of another length.
      if (size !== undefined && size > 0 && size !== bytes)
        throw new ApiError('invalid-request', `it has ${bytes} bytes, but its server reports ${size}.`);
      const file = await checkFile(path, { name, mediaType }, 'it');
      const place = { collection: collection.id, featureId, keywords, createdBy: IMPORT, origin };
      await attachments.bring(file, place);
    });
  }

  /** Ids of features by their object ids in the other server. */
  async #featuresOf(objectIds: readonly string[]): Promise<Map<string, string>> {
    const { collection, key, context } = this.job;
    const { features } = await this.deps.pools.run(
      'vector.items',
      {
        source: whole(collection).source,
        filter: equalsAny(key, objectIds.map(exactInteger)),
        format: 'geojson',
        crs: CRS84.proj,
        swapAxes: false,
        precision: 7,
        fields: [key],
        skipGeometry: true,
        limit: objectIds.length,
        offset: 0,
      },
      { signal: context.signal },
    );
    return new Map(
      featureTexts(features).map(({ id, properties }) => [membersIn(properties)!.get(key)!, id]),
    );
  }

  #ask: AskRemote = (name, input) => {
    const { context } = this.job;
    return askAgain(this.deps.pools, context, context.input.remote.maxRetries, name, input);
  };
}

type AskRemote = <N extends 'ingest.download' | 'ingest.geoservicesAttachments'>(
  name: N,
  input: Parameters<typeof askAgain<N>>[4],
) => ReturnType<typeof askAgain<N>>;

/** A token travels in the body of a request. */
function buildDownload({ url: text, ...request }: RemoteRequest, path: string): RemoteRequest {
  const url = new URL(text);
  const form = Object.fromEntries(url.searchParams);
  url.search = '';
  url.pathname += `/${path}`;
  return { ...request, url: url.href, ...(Object.keys(form).length > 0 ? { form } : {}) };
}

function describeReason(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  const [first] = error.errors ?? [];
  return first ? `it ${formatDetail(first)}` : error.message;
}

async function idsIn(path: string): Promise<BigInt64Array> {
  const file = await open(path);
  try {
    const bytes = await file.readFile();
    return new BigInt64Array(Uint8Array.from(bytes).buffer);
  } finally {
    await file.close();
  }
}
