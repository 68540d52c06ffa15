import { hash, randomUUID } from 'node:crypto';
import { SERVICE } from '../../../core/access/access.js';
import type {
  EmbedEvent,
  EmbedGroup,
  EmbedKey,
  EmbedScope,
  EmbedUse,
} from '../../../core/access/embed-keys.js';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import type { Principal, Surface } from '../../../core/http/operation.js';
import type { EmbedUsageStore } from '../../../stores/access/embed-usage.js';
import type { DocumentStore, StoredDocument } from '../../../stores/state/documents.js';
import { Tally } from '../tally.js';
import { keyStatus } from './api-keys.js';
import { createSecret } from './new-secret.js';

export const EMBED_KIND = 'embed key';
/** Prefix of embed key secrets. */
export const EMBED_MARK = 'gre_';
/**
 * Maximum number of different uses that are counted between two writes, because clients can send arbitrary origins.
 */
const MAX_USES = 10_000;
/** Kind of the documents with the last use of keys. Writing them is not a change of a key. */
const USE = 'embed key use';

export interface NewEmbedKey {
  readonly name: string;
  readonly scope: EmbedScope;
  readonly expiresAt: number | null;
}

export type StoredEmbedKey = StoredDocument<EmbedKey>;

/** Keys for pages: issued, rotated, revoked, recognised, and their use counted. */
export class EmbedKeys {
  #byHash: ReadonlyMap<string, StoredEmbedKey> = new Map();
  #byId: ReadonlyMap<string, StoredEmbedKey> = new Map();
  readonly #uses: Tally;
  readonly #lastUses: Tally;

  constructor(
    private readonly documents: DocumentStore,
    private readonly usage: EmbedUsageStore,
    private readonly settle: () => Promise<void>,
    onError: (error: unknown) => void,
  ) {
    this.#uses = new Tally((counts) => usage.add(listUses(counts)), MAX_USES, onError);
    this.#lastUses = new Tally((ids) => this.#writeUses([...ids.keys()].sort()), MAX_USES, onError);
  }

  async #writeUses(ids: readonly string[]): Promise<void> {
    const at = Date.now();
    for (const id of ids) await this.documents.put(USE, id, { at }, 'system');
  }

  async load(): Promise<void> {
    const stored = await this.list();
    this.#byHash = new Map(stored.map((key) => [key.body.hash, key]));
    this.#byId = new Map(stored.map((key) => [key.id, key]));
  }

  list(): Promise<StoredEmbedKey[]> {
    return this.documents.list<EmbedKey>(EMBED_KIND);
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<StoredEmbedKey> {
    return (await this.documents.get<EmbedKey>(EMBED_KIND, id)) ?? missing(id);
  }

  async create(
    { name, scope, expiresAt }: NewEmbedKey,
    by: string,
  ): Promise<{ key: StoredEmbedKey; secret: string }> {
    const { secret, prefix } = createSecret(EMBED_MARK);
    const body: EmbedKey = {
      name,
      scope,
      expiresAt,
      prefix,
      hash: secretHash(secret),
      rotatedAt: null,
      revokedAt: null,
    };
    const key = await this.#rules().create(EMBED_KIND, randomUUID(), body, by);
    await this.settle();
    return { key, secret };
  }

  /** Once this resolves, the former secret is refused everywhere. Throws `not-found`, also for a revoked key. */
  async rotate(id: string, by: string): Promise<{ key: StoredEmbedKey; secret: string }> {
    const { secret, prefix } = createSecret(EMBED_MARK);
    const key = await this.#rules().update<EmbedKey>(EMBED_KIND, id, by, (body) => {
      if (body.revokedAt !== null) missing(id);
      return { ...body, prefix, hash: secretHash(secret), rotatedAt: Date.now() };
    });
    await this.settle();
    return { key, secret };
  }

  /** Once this resolves, the key is refused everywhere. Throws `not-found`. */
  async revoke(id: string, by: string): Promise<StoredEmbedKey> {
    const key = await this.#rules().update<EmbedKey>(EMBED_KIND, id, by, (body) => ({
      ...body,
      revokedAt: body.revokedAt ?? Date.now(),
    }));
    await this.settle();
    return key;
  }

  /** Principal of a secret. Undefined if the secret is not valid. */
  principalOf(secret: string): Principal | undefined {
    const key = this.#byHash.get(secretHash(secret));
    return key && keyStatus(key.body) === 'active' ? buildPrincipal(key) : undefined;
  }

  /** Returns the principal of a key. Undefined if the key is not valid. */
  principalById(id: string): Principal | undefined {
    const key = this.#byId.get(id);
    return key && keyStatus(key.body) === 'active' ? buildPrincipal(key) : undefined;
  }

  /** Throws `forbidden` unless the key is valid for the page's origin and for this origin of the server. */
  requirePlace({ id }: Principal, origin: string | undefined, server: string): void {
    const scope = this.#byId.get(id)?.body.scope;
    const { allowedEmbedOrigins: pages = [], allowedServiceOrigins: servers = [] } = scope ?? {};
    if (origin === undefined || !pages.includes(origin))
      throw new ApiError(
        'forbidden',
        'Origin: the key is not for pages of this origin. Use a page of an allowed origin.',
      );
    if (servers.length > 0 && !servers.includes(server))
      throw new ApiError(
        'forbidden',
        'The key is not for this URL of the server. Use the URL for which it was created.',
      );
  }

  /** Counts a request of a key. */
  count(
    { principal, operation, layer, origin }: EmbedRequest,
    event: EmbedEvent = chooseEvent(operation),
  ): void {
    const scope = this.#byId.get(principal.id)?.body.scope;
    if (!scope) return;
    const use: EmbedUse = {
      integration: scope.integrationId ?? '',
      tenant: scope.tenantId ?? '',
      origin: origin ?? '',
      service: SERVICE,
      layer: layer ?? '',
      eventType: event,
    };
    this.#uses.add(JSON.stringify(use));
    if (event !== 'policyDenial') this.#lastUses.add(principal.id);
  }

  /** Uses by one member, those of this process up to now included. */
  async uses(by: EmbedGroup, where: Partial<EmbedUse>): Promise<{ key: string; count: number }[]> {
    await this.#uses.flush();
    return this.usage.sums(by, where);
  }

  /** When keys were used last, by their ids, as of the last write. */
  async lastUses(): Promise<ReadonlyMap<string, number>> {
    await this.#lastUses.flush();
    const uses = await this.documents.list<{ at: number }>(USE);
    return new Map(uses.map(({ id, body }) => [id, body.at]));
  }

  async close(): Promise<void> {
    await this.#uses.close();
    await this.#lastUses.close();
  }

  #rules(): DocumentStore {
    return this.documents.announcing('access');
  }
}

/** In one order, so that two processes do not wait for each other. */
function listUses(counts: ReadonlyMap<string, number>): { use: EmbedUse; count: number }[] {
  const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return rows.map(([name, count]) => ({ use: JSON.parse(name) as EmbedUse, count }));
}

export interface EmbedRequest {
  readonly principal: Principal;
  readonly operation: { readonly id: string; readonly surface: Surface };
  /** Requested collection, by its name in the path. */
  readonly layer: string | undefined;
  readonly origin: string | undefined;
}

function buildPrincipal({ id, body }: StoredEmbedKey): Principal {
  const { scope, name, expiresAt } = body;
  const { allowedContentIds: layers, tenantId } = scope;
  const { rateLimitRequestsPerWindow: requests, rateLimitWindowSeconds: seconds } = scope;
  return {
    kind: 'embed-key',
    id,
    name,
    roles: [],
    claims: {},
    // Any visitor of the page can copy the key, so it can only read the layers' data that is readable without
    // credentials.
    permissions: [],
    ...(layers.length > 0 ? { layers } : {}),
    ...(tenantId === null ? {} : { tenantId }),
    ...(requests > 0 ? { limit: { requests, seconds } } : {}),
    ...(expiresAt === null ? {} : { expiresAt }),
  };
}

/** Event of a request from a page, by its operation. */
function chooseEvent({ id, surface }: EmbedRequest['operation']): EmbedEvent {
  if (/\.get(Item|Position)$/.test(id)) return 'identify';
  if (/search|\.getItems$/i.test(id)) return 'search';
  return surface === 'admin' ? 'configChange' : 'view';
}

const secretHash = (secret: string) => hash('sha256', secret, 'hex');

function missing(id: string): never {
  throw notFound(EMBED_KIND, id);
}
