import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SERVICE } from '../../../core/access/access.js';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../../core/catalog/collection.js';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import type { TableCheck } from '../../../core/tasks/table-tasks.js';
import type { CollectionStore } from '../../../stores/catalog/collections.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { CopyRight, Derivations } from '../../access/rules/derivations.js';
import type { CopySourceLayer } from '../../access/rules/rules.js';
import { READABLE, UNREAD_OBJECT } from '../../catalog/copies/copy-checks.js';
import {
  buildCopySettings,
  type CopyChoice,
  type FoundCopy,
  type LayerCopy,
  type NewCopy,
  NO_WORDS,
  type PublishedCopy,
  type StoredCopy,
} from '../../catalog/copies/layer-copy.js';
import { buildBucketPlace, buildCopyPlace, type LayerFinder } from '../../catalog/copies/shown-layers.js';
import type { Layers } from '../../catalog/layers/layers.js';
import { tableName } from '../../catalog/table-name.js';
import {
  CONNECTION_KIND,
  type Connection,
  getConnectionProvider,
  type StoredConnection,
} from '../../connections/connection.js';
import { LAYER_COPY } from '../../connections/connections.js';
import { isBucketProvider } from '../../connections/object-store.js';
import type { JobEngine } from '../../jobs/engine.js';
import { type ImportService, LOAD_PHASE } from '../import.js';
import type { ImportResult } from '../import-input.js';
import { OBJECT } from '../remote/objects.js';
import { afterOpenJobs, copyError, isOpen, sayingConflict } from './copy-jobs.js';
import { absentSource, type CopySource, type CopySourceDeps, copySource } from './copy-sources.js';

export interface CopiesDeps extends CopySourceDeps {
  readonly documents: DocumentStore;
  readonly collections: Pick<CollectionStore, 'idOf'>;
  readonly jobs: Pick<JobEngine, 'finished' | 'finishedForRequest' | 'store'>;
  readonly imports: Pick<ImportService, 'forget' | 'refuse' | 'remove' | 'submitRemote'>;
  readonly layers: Pick<Layers, 'put' | 'settingsOf'>;
  readonly shownLayers: Pick<LayerFinder, 'at'>;
  readonly derivations: Pick<Derivations, 'extend' | 'of'>;
  catalog(): CatalogSnapshot;
}

const DEGREES = 4326;
/** Maximum milliseconds before the job of a copy exists. */
const BEGIN_MS = 10_000;
/** Principal of changes that clean up after ended processes. */
const SYSTEM = 'system';

/** Layers of services and files of buckets that operators publish as copies. Each copy is a job, and whole or not made at all. */
export class LayerCopies {
  constructor(private readonly deps: CopiesDeps) {}

  /** The existing copies of a connection. Default: of all connections. */
  async list(connectionId?: string, serviceName?: string): Promise<PublishedCopy[]> {
    const all = await this.deps.documents.list<LayerCopy>(LAYER_COPY);
    const copies = await Promise.all(
      all.map(async (stored): Promise<PublishedCopy[]> => {
        if (connectionId !== undefined && stored.body.connectionId !== connectionId) return [];
        const collection = this.deps.catalog().byId(stored.id);
        if (!hasFeatures(collection)) return [];
        const isOfService = serviceName === undefined || (collection.service ?? SERVICE) === serviceName;
        return isOfService && (await this.#isMade(stored)) ? [{ stored, collection }] : [];
      }),
    );
    return copies.flat();
  }

  /** Throws `not-found` for a layer that is not of this connection, or not of this service. */
  async get(connectionId: string, layerId: number, serviceName?: string): Promise<PublishedCopy> {
    const copies = await this.list(connectionId, serviceName);
    const copy = copies.find(({ collection }) => collection.layerId === layerId);
    if (!copy) throw notFound('layer', `${layerId}`);
    return copy;
  }

  /** Whatever is kept of a copy under that id. */
  async find(id: string): Promise<FoundCopy | undefined> {
    const stored = await this.deps.documents.get<LayerCopy>(LAYER_COPY, id);
    if (!stored || stored.body.isGone) return undefined;
    const isUnderWay = await this.#isUnderWay(stored);
    return { stored, isUnderWay, isMade: await this.#isMade(stored), isDraft: this.isDraft(stored) };
  }

  /** Whether the copy was created for a manifest that was never written, and no operator has enabled it. */
  isDraft({ id, body }: StoredCopy): boolean {
    return body.isDraft === true && this.deps.layers.settingsOf({ id }).enabled === false;
  }

  /** Checks whether a layer can be copied. Rejects while the service does not respond. */
  async validate(
    connection: StoredConnection,
    choice: CopyChoice,
    layerName?: string,
  ): Promise<TableCheck[]> {
    const name = this.#nameCheck(tableName(layerName ?? choice.table));
    try {
      await copySource(this.deps, connection, choice, { srid: DEGREES });
      return [name, isBucketProvider(getConnectionProvider(connection.body)) ? UNREAD_OBJECT : READABLE];
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      return [name, { code: 'table-missing', severity: 'error', message: error.message }];
    }
  }

  #nameCheck(id: string): TableCheck {
    const check = { code: 'layer-name', actual: id };
    try {
      this.deps.imports.refuse({ table: id });
      return { ...check, severity: 'pass', message: `The collection is called ${id}.` };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { ...check, severity: 'error', message: error.message };
    }
  }

  /**
   * Copies a layer, and resolves when every API serves it. The job continues when no caller waits. Throws `conflict`
   * for a taken name, `invalid-body` for a layer that cannot be copied, and the error of a failed job. Layers that do
   * not exist for the caller are treated as missing.
   */
  async publish(
    connection: StoredConnection,
    copy: NewCopy,
    { right, by }: { right: CopyRight; by: string },
  ): Promise<PublishedCopy> {
    const { schema, table, layerName, srid, serviceName, enabled } = copy;
    const id = tableName(layerName);
    const place = {
      srid: srid ?? DEGREES,
      service: serviceName,
      ...(enabled ? {} : { disabled: true as const }),
    };
    const source = await copySource(this.deps, connection, { schema, table }, place);
    const sources = await this.sourcesOf(id, connection, { schema, table }, right);
    const settings = buildCopySettings(copy);
    const choice = { connectionId: connection.id, schema, table, layerName, srid };
    const jobIds = { jobId: null, refreshJobId: null };
    const draft = copy.isDraft ? { isDraft: copy.isDraft } : {};
    const stored = await this.#begin({ ...choice, settings, ...jobIds, ...draft }, id, by);
    const withdraw = async (error: unknown) => {
      await this.#withdraw(id);
      throw error;
    };
    const submit = async () => {
      await this.deps.layers.put({ id }, settings, by);
      return this.#submit('jobId', stored, { source, sources, srid, title: layerName }, by);
    };
    const jobId = await submit().catch(withdraw);
    // Whatever prevents this process from seeing the end of the job, the job continues.
    const job = await this.deps.jobs.finishedForRequest(jobId);
    if (job.state !== 'Succeeded')
      await withdraw(await this.#describeFailure(job, connection, { schema, table }, right));
    return this.get(connection.id, await this.deps.collections.idOf(id));
  }

  /** The layers that show the data of a new copy. Throws for layers that the caller may not copy. */
  async sourcesOf(
    id: string,
    connection: StoredConnection,
    choice: CopyChoice,
    right: CopyRight,
  ): Promise<CopySourceLayer[]> {
    const sources = await this.deps.shownLayers.at(buildCopyPlace(connection, choice), id);
    right.require(sources, absentSource(connection, choice));
    return sources;
  }

  /** The reason why an object could not be copied would reveal that it exists. */
  async #describeFailure(
    job: JobRow,
    connection: StoredConnection,
    choice: CopyChoice,
    right: CopyRight,
  ): Promise<ApiError> {
    const error = copyError(job);
    if (error.code !== 'unprocessable' || !isBucketProvider(getConnectionProvider(connection.body)))
      return error;
    const all = await this.deps.shownLayers.at(buildBucketPlace(connection));
    return right.has(all) ? error : absentSource(connection, choice);
  }

  /** Before a connection leads elsewhere: its copies become copies of the layers that show the same data there. */
  async nameSources(before: StoredConnection, after: StoredConnection, by: string): Promise<void> {
    for (const { id, body } of await this.deps.documents.list<LayerCopy>(LAYER_COPY)) {
      if (body.connectionId !== before.id) continue;
      const [former, present] = [before, after].map((one) => buildCopyPlace(one, body));
      if (former!.path === present!.path) continue;
      await this.deps.derivations.extend(id, await this.deps.shownLayers.at(present!, id), by);
    }
  }

  /** Stores the record of a copy before the copy starts, so its connection knows it even if this process ends. */
  async #begin(copy: LayerCopy, id: string, by: string): Promise<StoredCopy> {
    const { documents, imports } = this.deps;
    imports.refuse({ table: id });
    const before = await documents.get<LayerCopy>(LAYER_COPY, id);
    if (before && (await this.#isUnderWay(before)))
      throw new ApiError('conflict', `The layer '${id}' is being copied. Retry after the job has ended.`);
    if (before) await this.#discard(before);
    return documents.together([CONNECTION_KIND, copy.connectionId], async (store) => {
      if (!(await store.get<Connection>(CONNECTION_KIND, copy.connectionId)))
        throw notFound(CONNECTION_KIND, copy.connectionId);
      return store.create<LayerCopy>(LAYER_COPY, id, copy, by);
    });
  }

  /** Starts the job of a copy. Its id is stored before the job exists. */
  async #submit(
    member: 'jobId' | 'refreshJobId',
    { id, etag }: StoredCopy,
    {
      source,
      sources,
      srid,
      title,
    }: { source: CopySource; sources: readonly CopySourceLayer[]; srid: number | null; title: string },
    by: string,
  ): Promise<string> {
    const { documents, imports } = this.deps;
    const jobId = randomUUID();
    const name = (copy: LayerCopy): LayerCopy => ({ ...copy, [member]: jobId });
    await sayingConflict(id, documents.update(LAYER_COPY, id, by, name, [etag]));
    const input = {
      table: id,
      title,
      remote: source.remote,
      sources,
      retryRefusal: RETRY_REFUSAL,
      ...(source.jobKind === OBJECT ? statedCrs(srid) : { targetCrs: `EPSG:${srid ?? DEGREES}` }),
      ...(member === 'refreshJobId' ? { replace: true } : {}),
    };
    await imports.submitRemote(source.jobKind, input, { owner: by, id: jobId });
    return jobId;
  }

  /**
   * Cleans up after ended processes: removes the records of failed copies, and completes deletions. With a
   * connection, it also removes the records of its copies whose collection was deleted.
   */
  async trim(connectionId?: string): Promise<void> {
    const { documents, catalog } = this.deps;
    for (const stored of await documents.list<LayerCopy>(LAYER_COPY)) {
      const isOther = connectionId !== undefined && stored.body.connectionId !== connectionId;
      if (isOther || (await this.#isUnderWay(stored))) continue;
      const collection = catalog().byId(stored.id);
      const isLost = connectionId !== undefined && collection === undefined;
      if (stored.body.isGone && hasFeatures(collection)) await this.#drop(stored, collection);
      else if (stored.body.isGone) await this.#forget(stored);
      else if (isLost || !(await this.#isMade(stored))) await this.#discard(stored);
    }
  }

  /** Calls `trim` now, and again when open jobs of ended processes end. Rejects with the signal's reason. */
  async takeUp(signal: AbortSignal): Promise<void> {
    await this.trim();
    await afterOpenJobs(this.deps, signal, () => this.trim());
  }

  /** Whether a collection of that id is this copy: its job has ended, and loaded it. Else it is another. */
  async #isMade({ body: { jobId } }: StoredCopy): Promise<boolean> {
    const { store } = this.deps.jobs;
    const job = jobId === null ? undefined : await store.get(jobId);
    if (job === undefined || isOpen(job)) return false;
    if (job.state === 'Succeeded') return true;
    const steps = await store.steps(job.id);
    return steps.some(({ phase, status }) => phase === LOAD_PHASE && status === 'Succeeded');
  }

  async #isUnderWay({ body: { jobId, refreshJobId }, updatedAt }: StoredCopy): Promise<boolean> {
    const last = refreshJobId ?? jobId;
    const job = last === null ? undefined : await this.deps.jobs.store.get(last);
    return job ? isOpen(job) : Date.now() - updatedAt < BEGIN_MS;
  }

  /** Removes the stored record of a failed copy. */
  async #withdraw(id: string): Promise<void> {
    const stored = await this.deps.documents.get<LayerCopy>(LAYER_COPY, id);
    if (!stored) return;
    const { jobId } = stored.body;
    const job = jobId === null ? undefined : await this.deps.jobs.store.get(jobId);
    const goesOn = job !== undefined && isOpen(job);
    if (!goesOn && !(await this.#isMade(stored))) await this.#discard(stored);
  }

  /**
   * Removes the record of a copy that does not exist, and its initial settings, except settings that were changed
   * since.
   */
  async #discard({ id, etag, body }: StoredCopy): Promise<void> {
    const { documents, layers } = this.deps;
    const current: Readonly<Record<string, unknown>> = { ...layers.settingsOf({ id }) };
    const own = Object.entries(body.settings).filter(([name, value]) =>
      isDeepStrictEqual(current[name], value),
    );
    if (own.length > 0)
      await layers.put({ id }, Object.fromEntries(own.map(([name]) => [name, undefined])), SYSTEM);
    await documents.remove(LAYER_COPY, id, [etag]);
  }

  /**
   * Copies a layer again. The present data is served until the new copy replaces it. Resolves with the number of
   * features. Throws the errors of `publish`, and `conflict` while the layer is being copied.
   */
  async refresh(connection: StoredConnection, { stored }: PublishedCopy, by: string): Promise<number> {
    await this.requireRest(stored);
    const { schema, table, srid, layerName: title } = stored.body;
    const source = await copySource(this.deps, connection, { schema, table }, { srid: srid ?? DEGREES });
    const sources = this.deps.derivations.of(stored.id);
    const jobId = await this.#submit('refreshJobId', stored, { source, sources, srid, title }, by);
    const job = await this.deps.jobs.finishedForRequest(jobId);
    if (job.state !== 'Succeeded') throw copyError(job);
    return (JSON.parse(job.result_json!) as ImportResult).features;
  }

  /** Throws `conflict` while a job copies the layer. */
  async requireRest(stored: StoredCopy): Promise<void> {
    const { jobId, refreshJobId } = stored.body;
    if (await this.#isUnderWay(stored))
      throw new ApiError(
        'conflict',
        `The layer is being copied by the job ${refreshJobId ?? jobId}. Cancel the job, or retry after it has ended.`,
      );
  }

  /** Switches layers on or off. */
  async enable(copies: readonly PublishedCopy[], enabled: boolean, by: string): Promise<PublishedCopy[]> {
    for (const { stored } of copies)
      await this.deps.layers.put({ id: stored.id }, { enabled: enabled ? undefined : false }, by);
    return copies.map(({ stored, collection }) => {
      const after = this.deps.catalog().byId(stored.id);
      return { stored, collection: hasFeatures(after) ? after : collection };
    });
  }

  /** Removes the layer and its rows. Its source is unchanged. Throws `conflict` while the layer is being copied. */
  async remove({ stored, collection }: PublishedCopy, by: string): Promise<void> {
    await this.requireRest(stored);
    const { id, etag } = stored;
    const mark = (copy: LayerCopy): LayerCopy => ({ ...copy, isGone: true });
    const gone = await sayingConflict(id, this.deps.documents.update(LAYER_COPY, id, by, mark, [etag]));
    await this.#drop(gone, collection);
  }

  async #drop(stored: StoredCopy, collection: VectorCollection): Promise<void> {
    await this.deps.imports.remove(collection, () => this.#forget(stored));
  }

  /**
   * Deletes everything that belonged to a copy whose table is dropped. Each step can be repeated. The name is
   * released last, so a collection that takes it is never mistaken for the copy.
   */
  async #forget({ id, updatedBy }: StoredCopy): Promise<void> {
    const { documents, imports, layers } = this.deps;
    await layers.put({ id }, buildCopySettings(NO_WORDS), updatedBy ?? SYSTEM);
    await imports.forget(id);
    await documents.remove(LAYER_COPY, id);
  }
}

const RETRY_REFUSAL = 'It makes a copy for a connection: publish the layer there again, or refresh it.';

const statedCrs = (srid: number | null) => (srid === null ? {} : { sourceCrs: `EPSG:${srid}` });
