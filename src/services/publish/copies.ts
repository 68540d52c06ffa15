import { hasFeatures } from '../../core/abilities.js';
import { SERVICE } from '../../core/access.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/collection.js';
import { ApiError, notFound } from '../../core/errors.js';
import type { LayerAbout, LayerSettings } from '../../core/layer-settings.js';
import type { TableCheck } from '../../core/table-tasks.js';
import type { CollectionStore } from '../../stores/collections.js';
import type { DocumentStore, StoredDocument } from '../../stores/documents.js';
import type { JobRow } from '../../stores/jobs.js';
import { CONNECTION, type Connection, type StoredConnection } from '../connections/connection.js';
import { LAYER_COPY } from '../connections/connections.js';
import type { ImportService } from '../import.js';
import type { ImportResult } from '../import-input.js';
import type { JobEngine } from '../jobs/engine.js';
import type { Layers } from '../layers/layers.js';
import { OBJECT } from '../remote-imports/objects.js';
import { tableName } from '../table-name.js';
import { type CopyChoice, type CopySource, type CopySourceDeps, copySource } from './copy-sources.js';

/** A layer that was copied from a service or a bucket, as it is kept: copies are made anew from there. */
export interface LayerCopy extends CopyChoice {
  readonly connectionId: string;
  readonly layerName: string;
  /** EPSG code of the CRS that it is stored in; that of the file, or degrees, when null. */
  readonly srid: number | null;
  /** The job that copies it, or did so last. */
  readonly jobId: string | null;
}

/** Its id is that of the collection. */
export type StoredCopy = StoredDocument<LayerCopy>;

/** A copy with the collection that it is. */
export interface PublishedCopy {
  readonly stored: StoredCopy;
  readonly collection: VectorCollection;
}

/** What operators say of a layer. */
interface Words {
  readonly serviceName: string;
  readonly enabled: boolean;
  readonly description: string | null;
  readonly about: LayerAbout;
}

const NO_WORDS: Words = { serviceName: SERVICE, enabled: true, description: null, about: {} };

export interface NewCopy extends CopyChoice, Words {
  readonly layerName: string;
  readonly srid: number | null;
}

export interface CopiesDeps extends CopySourceDeps {
  readonly documents: DocumentStore;
  readonly collections: Pick<CollectionStore, 'idOf'>;
  readonly jobs: Pick<JobEngine, 'finished' | 'get'>;
  readonly imports: Pick<ImportService, 'submitRemote' | 'remove'>;
  readonly layers: Pick<Layers, 'put'>;
  catalog(): CatalogSnapshot;
}

const DEGREES = 4326;
/** Milliseconds within which the job of a copy is there. */
const BEGIN_MS = 10_000;

/** Layers of services and files of buckets that operators publish as copies. Each copy is a job, and whole or not made at all. */
export class LayerCopies {
  constructor(private readonly deps: CopiesDeps) {}

  /** Those that are there, of all connections or of one. */
  async list(connectionId?: string, serviceName?: string): Promise<PublishedCopy[]> {
    const copies = await this.deps.documents.list<LayerCopy>(LAYER_COPY);
    return copies.flatMap((stored) => {
      if (connectionId !== undefined && stored.body.connectionId !== connectionId) return [];
      const collection = this.deps.catalog().byId(stored.id);
      if (!hasFeatures(collection)) return [];
      const isOfService = serviceName === undefined || (collection.service ?? SERVICE) === serviceName;
      return isOfService ? [{ stored, collection }] : [];
    });
  }

  /** Throws `not-found` for a layer that is not of this connection, or not of this service. */
  async get(connectionId: string, layerId: number, serviceName?: string): Promise<PublishedCopy> {
    const copies = await this.list(connectionId, serviceName);
    const copy = copies.find(({ collection }) => collection.layerId === layerId);
    if (!copy) throw notFound('layer', `${layerId}`);
    return copy;
  }

  /** What speaks against a copy. Rejects while the service does not answer. */
  async validate(
    connection: StoredConnection,
    choice: CopyChoice,
    layerName?: string,
  ): Promise<TableCheck[]> {
    const id = tableName(layerName ?? choice.table);
    const isTaken = this.deps.catalog().byId(id) !== undefined;
    const name: TableCheck = isTaken
      ? {
          code: 'layer-name',
          severity: 'error',
          message: `There is a collection '${id}' already.`,
          actual: id,
        }
      : { code: 'layer-name', severity: 'pass', message: `The collection is called ${id}.`, actual: id };
    try {
      await copySource(this.deps, connection, choice, { srid: DEGREES });
      return [name, { code: 'table-missing', severity: 'pass', message: 'It can be copied.' }];
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      return [name, { code: 'table-missing', severity: 'error', message: error.message }];
    }
  }

  /**
   * Copies a layer, and resolves when it is on every surface; the job goes on when nobody waits. Throws `conflict` for a
   * name that is taken, `invalid-body` for what cannot be copied, and what kept the job from its end.
   */
  async publish(connection: StoredConnection, copy: NewCopy, by: string): Promise<PublishedCopy> {
    const { schema, table, layerName, srid, serviceName, enabled } = copy;
    const id = tableName(layerName);
    const place = {
      srid: srid ?? DEGREES,
      service: serviceName,
      ...(enabled ? {} : { disabled: true as const }),
    };
    const source = await copySource(this.deps, connection, { schema, table }, place);
    await this.#begin({ connectionId: connection.id, schema, table, layerName, srid, jobId: null }, id, by);
    try {
      await this.deps.layers.put({ id }, settingsOf(copy), by);
      await this.#copy(id, { source, srid, title: layerName }, by);
    } catch (error) {
      await this.#withdraw(id, by);
      throw error;
    }
    return this.get(connection.id, await this.deps.collections.idOf(id));
  }

  /** Keeps what is copied before the copy is begun: it is known to its connection whatever ends this process. */
  async #begin(copy: LayerCopy, id: string, by: string): Promise<void> {
    const { documents, catalog } = this.deps;
    if (catalog().byId(id)) refuseName(id);
    const before = await documents.get<LayerCopy>(LAYER_COPY, id);
    if (before && (await this.#isUnderWay(before))) refuseName(id);
    await documents.together([CONNECTION, copy.connectionId], async (store) => {
      if (!(await store.get<Connection>(CONNECTION, copy.connectionId)))
        throw notFound(CONNECTION, copy.connectionId);
      if (before) await store.put<LayerCopy>(LAYER_COPY, id, copy, by);
      else await store.create<LayerCopy>(LAYER_COPY, id, copy, by);
    });
  }

  /** Forgets copies of a connection that did not come to be, as their process ended first. */
  async trim(connectionId: string): Promise<void> {
    const { documents, catalog } = this.deps;
    for (const stored of await documents.list<LayerCopy>(LAYER_COPY)) {
      const isOther = stored.body.connectionId !== connectionId || catalog().byId(stored.id) !== undefined;
      if (!isOther && !(await this.#isUnderWay(stored))) await documents.remove(LAYER_COPY, stored.id);
    }
  }

  async #isUnderWay({ body: { jobId }, updatedAt }: StoredCopy): Promise<boolean> {
    if (jobId === null) return Date.now() - updatedAt < BEGIN_MS;
    const job = await this.deps.jobs.get(jobId).catch(() => undefined);
    return job?.state === 'Queued' || job?.state === 'Running';
  }

  /** Resolves with the number of features. */
  async #copy(
    id: string,
    {
      source,
      srid,
      title,
      replace,
    }: { source: CopySource; srid: number | null; title: string; replace?: true },
    by: string,
  ): Promise<number> {
    const { documents, imports, jobs } = this.deps;
    const input = {
      ...{ table: id, title, remote: source.remote },
      ...(source.jobKind === OBJECT ? statedCrs(srid) : { targetCrs: `EPSG:${srid ?? DEGREES}` }),
      ...(replace ? { replace } : {}),
    };
    const job = await imports.submitRemote(source.jobKind, input, { owner: by });
    await documents.update<LayerCopy>(LAYER_COPY, id, by, (before) => ({ ...before, jobId: job.id }));
    return featuresOf(await jobs.finished(job.id));
  }

  /** What was kept of a copy that did not come to be. */
  async #withdraw(id: string, by: string): Promise<void> {
    if (this.deps.catalog().byId(id)) return;
    await this.deps.documents.remove(LAYER_COPY, id);
    await this.deps.layers.put({ id }, settingsOf(NO_WORDS), by);
  }

  /**
   * Copies a layer anew in the place of what is there, which is served until then. Resolves with the number of features.
   * Throws as `publish` does, and `conflict` while it is being copied.
   */
  async refresh(connection: StoredConnection, { stored }: PublishedCopy, by: string): Promise<number> {
    await this.#requireRest(stored);
    const { schema, table, srid, layerName } = stored.body;
    const source = await copySource(this.deps, connection, { schema, table }, { srid: srid ?? DEGREES });
    return this.#copy(stored.id, { source, srid, title: layerName, replace: true }, by);
  }

  /** Throws `conflict` while a job copies the layer. */
  async #requireRest(stored: StoredCopy): Promise<void> {
    if (await this.#isUnderWay(stored))
      throw new ApiError(
        'conflict',
        `The layer is being copied by the job ${stored.body.jobId}: cancel that, or wait for it.`,
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

  /** The layer and its rows; what it was copied from stays. Throws `conflict` while it is being copied. */
  async remove({ stored, collection }: PublishedCopy): Promise<void> {
    await this.#requireRest(stored);
    await this.deps.imports.remove(collection);
    await this.deps.documents.remove(LAYER_COPY, stored.id);
  }
}

const statedCrs = (srid: number | null) => (srid === null ? {} : { sourceCrs: `EPSG:${srid}` });

/** What an earlier layer of that name had is gone. */
function settingsOf({ serviceName, enabled, description, about }: Words): Partial<LayerSettings> {
  return {
    service: serviceName === SERVICE ? undefined : serviceName,
    enabled: enabled ? undefined : false,
    description: description ?? undefined,
    about: Object.keys(about).length === 0 ? undefined : about,
  };
}

/** Codes of failures that pass. */
const PASSING = /(^|\.)(store-unavailable|unavailable|deadline-exceeded|source_unreachable|timeout)$/;

function featuresOf({
  state,
  failure_code: code,
  failure_message: message,
  result_json: result,
}: JobRow): number {
  if (state === 'Succeeded') return (JSON.parse(result!) as ImportResult).features;
  if (state === 'Cancelled') throw new ApiError('conflict', 'The copy was cancelled.');
  const text = message ?? 'The copy failed.';
  if (code === 'conflict') throw new ApiError('conflict', text);
  throw new ApiError(PASSING.test(code ?? '') ? 'unavailable' : 'unprocessable', text);
}

function refuseName(id: string): never {
  throw new ApiError('conflict', `There is a collection '${id}' already.`);
}
