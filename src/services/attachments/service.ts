import type { VectorCollection } from '../../core/catalog/collection.js';
import { useGeneratedCollectionIds } from '../../core/catalog/generated-ids.js';
import type { Expression } from '../../core/cql2/ast.js';
import type { EditOrigin } from '../../core/edits/edits.js';
import { ApiError, badParameter, notFound } from '../../core/errors/errors.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { StoredObject } from '../../core/sources/storage.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { ObjectId } from '../../core/values/object-id.js';
import type {
  AttachedTo,
  Attachment,
  AttachmentStore,
  NewAttachment,
} from '../../stores/attachments/attachments.js';
import type { AccessPolicy } from '../access/access.js';
import { type EditBounds, editBounds } from '../edits/edit-bounds.js';
import type { Edits } from '../edits/edits.js';
import { keyedOperations } from '../edits/numbered-edits.js';
import type { Catalogs } from '../features/view.js';
import type { TaskContext } from '../kit/run-task.js';
import { layerView, type ReplicaLayerView, requireLayer } from '../replicas/layer-view.js';
import type { Storage } from '../storage/storage.js';
import { featuresThere } from './features.js';
import { type CheckedFile, tooManyAttachments } from './intake.js';
import { findStore } from './place.js';

export interface AttachmentDeps extends Catalogs {
  readonly store: AttachmentStore;
  readonly storage: Storage;
  /** Names the folder of the storage among those of the servers of a state; '' where they all have the same. */
  readonly folder: string;
  readonly pools: Pools;
  readonly edits: Pick<Edits, 'run'>;
  readonly access: AccessPolicy;
}

/** Feature of an attachment. */
export interface FeatureAddress {
  readonly service: string;
  readonly layerId: number;
  readonly objectId: ObjectId;
}

/** The part of a request that attachments need. */
export interface AttachmentContext extends TaskContext {
  readonly signal: AbortSignal;
  readonly principal: Principal;
  readonly correlationId: string;
}

/** Bytes that can be sent. */
export interface StoredContent {
  readonly attachment: Attachment;
  readonly object: StoredObject;
}

/** Search for attachments of a layer. */
export interface AttachmentSearch {
  /** Default: all features. */
  readonly objectIds?: readonly ObjectId[] | undefined;
  /** Features that pass. */
  readonly filter?: ((view: ReplicaLayerView) => Expression | undefined) | undefined;
  /** Whether an attachment is meant. */
  fits(attachment: Attachment): boolean;
  readonly offset: number;
  readonly limit: number;
}

/** Maximum attempts to store bytes that were removed while they were attached. */
const ATTEMPTS = 3;
/** Number of attachments read together. */
const PAGE = 1000;
/** Pages that one search reads. */
const MAX_PAGES = 100;

/**
 * Files attached to features. Callers who can read a feature can read its attachments, and callers who can change it
 * can change them. Each change is an edit of the feature that changes no value, so rights, policies and events of
 * edits apply.
 */
export class Attachments {
  constructor(private readonly deps: AttachmentDeps) {}

  /** The attachments of a feature. */
  async list(x: AttachmentContext, address: FeatureAddress): Promise<Attachment[]> {
    const collection = await this.#requireFeature(x, address);
    const place = await findStore(x, this.deps.pools, collection);
    const featureIds = [String(address.objectId)];
    return this.deps.store.list({ ...place, featureIds, limit: LIMITS.featureAttachments });
  }

  async content(x: AttachmentContext, address: FeatureAddress, id: number): Promise<StoredContent> {
    const { store, storage, folder, pools } = this.deps;
    const collection = await this.#requireFeature(x, address);
    const attachment = await store.get(await findStore(x, pools, collection), String(address.objectId), id);
    if (!attachment) throw notFound('attachment', `${id}`);
    const ownFolder = await store.folderOf(attachment.contentKey);
    if (ownFolder !== undefined && ownFolder !== '' && ownFolder !== folder)
      throw new ApiError(
        'unavailable',
        'The attachment is in the data folder of another server. Servers that share a state need storage.url.',
      );
    const object = await storage.stat(attachment.contentKey);
    if (!object) throw notFound('content of attachment', `${id}`);
    return { attachment, object };
  }

  read({ attachment, object }: StoredContent, start: number, length: number): AsyncIterable<Uint8Array> {
    return this.deps.storage.read(attachment.contentKey, object.tag, start, length);
  }

  /** Attachments of a layer that exist for the caller, in the order of their ids, and whether more follow. */
  async search(
    x: AttachmentContext,
    { service, layerId }: Pick<FeatureAddress, 'service' | 'layerId'>,
    search: AttachmentSearch,
  ): Promise<{ attachments: Attachment[]; more: boolean }> {
    const { store, pools } = this.deps;
    const visible = requireLayer(this.deps, x.principal, { service, layerId, parameter: 'layerId' });
    const plain = layerView(this.deps, visible, undefined);
    const view = layerView(this.deps, visible, search.filter?.(plain));
    const query = {
      ...(await findStore(x, pools, view.collection)),
      ...(search.objectIds ? { featureIds: search.objectIds.map(String) } : {}),
      limit: PAGE,
    };
    const attachments: Attachment[] = [];
    const most = search.offset + search.limit;
    let looks = 0;
    for (let after: number | undefined; attachments.length <= most; looks++) {
      if (looks >= MAX_PAGES)
        throw badParameter(
          'objectIds',
          'is required, because there are too many attachments to search all of them',
        );
      const page = await store.list({ ...query, ...(after === undefined ? {} : { after }) });
      const ids = [...new Set(page.map(({ featureId }) => featureId))];
      const there = await featuresThere(x, pools, useGeneratedCollectionIds(view.collection), {
        ids,
        filter: view.filter,
      });
      attachments.push(...page.filter((one) => there.has(one.featureId) && search.fits(one)));
      if (page.length < PAGE) break;
      after = page.at(-1)!.id;
    }
    return { attachments: attachments.slice(search.offset, most), more: attachments.length > most };
  }

  async add(
    x: AttachmentContext,
    address: FeatureAddress,
    file: CheckedFile,
    keywords: string,
  ): Promise<Attachment> {
    const place = await this.#edit(x, address);
    return this.#keep(file, async (contentKey) => {
      const attachment = { ...place, featureId: String(address.objectId), keywords, contentKey };
      return this.#taken({ ...attachment, ...buildWords(file), createdBy: x.principal.id });
    });
  }

  /** Attaches what an import brings, once for each origin. */
  bring(
    file: CheckedFile,
    attachment: Pick<NewAttachment, 'collection' | 'featureId' | 'keywords' | 'createdBy'> & {
      origin: string;
    },
  ): Promise<Attachment> {
    return this.#keep(file, (contentKey) => this.#taken({ ...attachment, ...buildWords(file), contentKey }));
  }

  /** Other bytes, other keywords, or both. */
  async change(
    x: AttachmentContext,
    address: FeatureAddress,
    id: number,
    { file, keywords }: { file?: CheckedFile | undefined; keywords?: string | undefined },
  ): Promise<Attachment> {
    const featureId = String(address.objectId);
    const feature = await this.#requireFeature(x, address);
    const place = await findStore(x, this.deps.pools, feature);
    if (!(await this.deps.store.get(place, featureId, id))) throw notFound('attachment', `${id}`);
    await this.#edit(x, address);
    const change = async (contentKey?: string) => {
      const changed = await this.deps.store.change(
        { collection: feature.id, featureId, id },
        {
          ...(file ? buildWords(file) : {}),
          ...(contentKey === undefined ? {} : { contentKey }),
          ...(keywords === undefined ? {} : { keywords }),
        },
      );
      if (!changed) throw notFound('attachment', `${id}`);
      return changed;
    };
    const result = file ? await this.#keep(file, change) : await change();
    return result as Attachment;
  }

  /** Removes attachments. Resolves with the ids of the existing ones. */
  async remove(
    x: AttachmentContext,
    address: FeatureAddress,
    ids: readonly number[],
  ): Promise<ReadonlySet<number>> {
    const place = await this.#edit(x, address);
    return new Set(await this.deps.store.remove(place, String(address.objectId), ids));
  }

  async #taken(attachment: NewAttachment): Promise<Attachment | 'gone'> {
    const added = await this.deps.store.add(attachment);
    if (!added) throw tooManyAttachments();
    return added;
  }

  /** Puts bytes into the storage, and has their row written. */
  async #keep(
    file: CheckedFile,
    write: (contentKey: string) => Promise<Attachment | 'gone'>,
  ): Promise<Attachment> {
    const { store, storage, folder } = this.deps;
    const { digest, size, path, mediaType } = file;
    const signal = AbortSignal.timeout(LIMITS.requestDeadlineMs);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const key = await store.place({ digest, size, folder });
      if (!(await storage.stat(key))) await storage.take(path, key, { mediaType, signal });
      const result = await write(key);
      if (result !== 'gone') return result;
    }
    throw new ApiError('unavailable', 'The file could not be stored. Send it again.');
  }

  /** Throws 404 for a feature that is not there for the caller. */
  async #requireFeature(
    x: AttachmentContext,
    { service, layerId, objectId }: FeatureAddress,
  ): Promise<ReplicaLayerView['collection']> {
    const visible = requireLayer(this.deps, x.principal, { service, layerId, parameter: 'layerId' });
    const view = layerView(this.deps, visible, undefined);
    const id = String(objectId);
    const there = await featuresThere(x, this.deps.pools, useGeneratedCollectionIds(view.collection), {
      ids: [id],
      filter: view.filter,
    });
    if (!there.has(id)) throw notFound('feature', id);
    return view.collection;
  }

  /** Throws what keeps the caller from changing attachments of the layer, before anything is received. */
  requireEditable(x: Pick<AttachmentContext, 'principal'>, { service, layerId }: FeatureAddress): void {
    const visible = requireLayer(this.deps, x.principal, { service, layerId, parameter: 'layerId' });
    const { collection } = layerView(this.deps, visible, undefined);
    this.#boundsOf(x.principal, visible, collection);
  }

  /**
   * Throws 401 for a caller without credentials, who can sign in, and 403 for other callers who may not edit the
   * layer.
   */
  #boundsOf(principal: Principal, visible: VectorCollection, collection: VectorCollection): EditBounds {
    const write = this.deps.access(principal, collection, 'write');
    if (!write.allowed && principal.kind === 'anonymous')
      throw new ApiError(
        'unauthenticated',
        'Credentials are required to change attachments. Send an API key or a token.',
      );
    return editBounds(visible, write);
  }

  /**
   * Makes an edit of a feature that changes no value. It checks the rights, and notifies other processes. Returns the
   * store of the attachments.
   */
  async #edit(x: AttachmentContext, { service, layerId, objectId }: FeatureAddress): Promise<AttachedTo> {
    const { edits, pools } = this.deps;
    const visible = requireLayer(this.deps, x.principal, { service, layerId, parameter: 'layerId' });
    const { collection } = layerView(this.deps, visible, undefined);
    const bounds = this.#boundsOf(x.principal, visible, collection);
    const operation = { type: 'update', id: String(objectId), feature: {} } as const;
    const { outcomes } = await edits.run(x, collection, {
      ...bounds,
      crs: CRS84.proj,
      swapAxes: false,
      mode: 'each',
      operations: await keyedOperations(x, pools, visible, [operation]),
      origin: buildOrigin(x.principal, x.correlationId, { collection: collection.id, layerId }),
    });
    const [outcome] = outcomes;
    if (outcome?.ok) return findStore(x, pools, collection);
    if (outcome?.reason === 'not-found') throw notFound('feature', `${objectId}`);
    throw new ApiError(outcome?.reason === 'forbidden' ? 'forbidden' : 'conflict', outcome!.message);
  }
}

function buildOrigin(
  { id: actor }: Principal,
  requestId: string,
  layer: Pick<EditOrigin, 'collection' | 'layerId'>,
): EditOrigin {
  return { ...layer, protocol: 'FeatureServer', requestId, actor };
}

const buildWords = ({ name, mediaType, size }: CheckedFile) => ({ name, mediaType, size });
