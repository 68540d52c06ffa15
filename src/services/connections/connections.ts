import { randomUUID } from 'node:crypto';
import type { Config } from '../../core/config/config.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import type { RemoteRequest, RemoteService } from '../../core/exchange/ingest.js';
import type { ObjectStore } from '../../core/sources/object-stores.js';
import type { DocumentStore } from '../../stores/state/documents.js';
import type { SecretKeys } from '../access/keys/secret-keys.js';
import {
  CONNECTION_KIND,
  type Connection,
  connectionUrl,
  getConnectionProvider,
  type StoredConnection,
} from './connection.js';
import { hostProblem } from './hosts.js';
import {
  createObjectStore,
  dataObjects,
  formatEndpoint,
  isBucketProvider,
  type ObjectQuery,
  type StoreAddress,
} from './object-store.js';
import { ConnectionPasswords } from './passwords.js';
import type { RemoteCredentials } from './remote-credentials.js';
import { secretAt } from './secrets.js';
import {
  credentialsWith,
  isServiceKind,
  type ServiceAddress,
  serviceAddress,
  serviceRequest,
} from './service-address.js';
import { publicPlace, type SourceConnection, sourceConnections, sourceFinder } from './sources.js';
import { type ConnectionCheck, ConnectionTrials, type TrialDeps, type TrialTarget } from './trials.js';

export const PUBLISHED_LAYER = 'published layer';
/** Kind of the documents of published copies from a service or a bucket. */
export const LAYER_COPY = 'layer copy';
const CHECK = 'connection check';

/** A password that is given, or where it is kept. */
export interface Credential {
  readonly password?: string | undefined;
  readonly secretReference?: string | undefined;
  readonly secretType?: string | undefined;
}

export interface ConnectionsDeps extends TrialDeps {
  readonly documents: DocumentStore;
  readonly keys: SecretKeys;
  /** Sources of the configuration and the command line. These connections can only be changed there. */
  sources(): readonly string[];
  /** Why a host may not be read over HTTP; undefined when it may (`remote.allow`). */
  readProblem(url: URL): string | undefined;
  /** Number of rasters registered from a connection. */
  rastersOf(connectionId: string): Promise<number>;
  /** Waits until every process has applied the change. */
  settle(): Promise<void>;
}

/** Connections by operators, and the sources of the configuration, which can only be changed there. */
export class Connections {
  readonly #documents: DocumentStore;
  readonly #deps: ConnectionsDeps;
  readonly passwords: ConnectionPasswords;
  readonly #trials: ConnectionTrials;
  readonly #openedAt = Date.now();
  #configured: { places: readonly string[]; byId: ReadonlyMap<string, SourceConnection> } | undefined;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
    this.#documents = deps.documents.announcing('publishing');
    this.#trials = new ConnectionTrials(deps);
    this.passwords = new ConnectionPasswords(this.#documents, deps.keys, () => deps.settle());
  }

  /** Sources of the present configuration, which a reload can change. */
  get #sources(): ReadonlyMap<string, SourceConnection> {
    const places = this.#deps.sources();
    if (this.#configured?.places !== places)
      this.#configured = { places, byId: sourceConnections(places, this.#openedAt) };
    return this.#configured.byId;
  }

  get settings(): Config['connections'] {
    return this.#deps.settings;
  }

  /** All connections, those of the configuration first. */
  async list(): Promise<StoredConnection[]> {
    return [...this.sources, ...(await this.#stored())];
  }

  /** Connections that tables can be published from. */
  async databases(): Promise<StoredConnection[]> {
    return (await this.list()).filter(isDatabaseConnection);
  }

  /** Connections of the configuration. */
  get sources(): StoredConnection[] {
    return [...this.#sources.values()].map(({ stored }) => stored);
  }

  /** Finds the source of a collection by the file in the collection. */
  sourceFinder(): ReturnType<typeof sourceFinder> {
    return sourceFinder(this.#sources.values());
  }

  isSource({ id }: Pick<StoredConnection, 'id'>): boolean {
    return this.#sources.has(id);
  }

  /** A service or a bucket that operators connected: what is published of it is a copy. */
  isRemote(connection: StoredConnection): boolean {
    const provider = getConnectionProvider(connection.body);
    return !this.isSource(connection) && (isBucketProvider(provider) || isServiceKind(provider));
  }

  #stored(): Promise<StoredConnection[]> {
    return this.#documents.list<Connection>(CONNECTION_KIND);
  }

  /** By id or name. Throws `not-found`. */
  async get(idOrName: string): Promise<StoredConnection> {
    const id = idOrName.toLowerCase();
    const byId =
      this.#sources.get(id)?.stored ?? (await this.#documents.get<Connection>(CONNECTION_KIND, id));
    return byId ?? named(await this.list(), idOrName) ?? missing(idOrName);
  }

  /** Throws `conflict` when the name is taken. */
  async create(
    connection: Omit<Connection, keyof Credential>,
    credential: Credential,
    by: string,
  ): Promise<StoredConnection> {
    const id = randomUUID();
    const body: Connection = { ...connection, ...(await this.#secretOf(id, credential)) };
    const stored = await this.#documents.together([CONNECTION_KIND], async (store) => {
      if (named([...this.sources, ...(await store.list<Connection>(CONNECTION_KIND))], body.name))
        throw new ApiError(
          'conflict',
          `name: the connection '${body.name}' already exists. Choose another name.`,
        );
      return store.create(CONNECTION_KIND, id, body, by);
    });
    await this.#deps.settle();
    return stored;
  }

  /**
   * Changes a connection. Members missing in the change keep their values. Throws `not-found`, and `conflict` for a
   * connection of the configuration.
   */
  async update(
    connection: StoredConnection,
    by: string,
    change: (before: Connection) => Partial<Connection>,
    credential: Credential = {},
    ifMatch?: readonly string[],
  ): Promise<StoredConnection> {
    this.requireOwn(connection);
    const { id } = connection;
    const isNew = credential.password !== undefined || credential.secretReference !== undefined;
    const secret = isNew ? await this.#secretOf(id, credential) : {};
    // Rasters of a bucket are part of the contents of the sources.
    const documents = isDatabaseConnection(connection)
      ? this.#documents
      : this.#deps.documents.announcing('catalog');
    const changed = await documents.update<Connection>(
      CONNECTION_KIND,
      id,
      by,
      (before) => ({ ...before, ...change(before), ...secret }),
      ifMatch,
    );
    await this.#deps.settle();
    return changed;
  }

  /** Throws `conflict` for one of the configuration. */
  requireOwn(connection: StoredConnection): void {
    if (this.isSource(connection))
      throw new ApiError(
        'conflict',
        `'${connection.body.name}' is defined in the configuration. Change it there.`,
      );
  }

  async #secretOf(id: string, { password, secretReference, secretType }: Credential) {
    return {
      password: password ? await this.#deps.keys.seal(password, id) : null,
      secretReference: secretReference ?? null,
      secretType: secretReference === undefined ? null : (secretType ?? secretReference.split(':')[0]!),
    };
  }

  /** Throws `conflict` while layers are published from it, and for one of the configuration. */
  async remove(connection: StoredConnection): Promise<void> {
    this.requireOwn(connection);
    const { id, body } = connection;
    const rasters = await this.#deps.rastersOf(id);
    await this.#documents.together([CONNECTION_KIND, id], async (store) => {
      const kinds = [PUBLISHED_LAYER, LAYER_COPY];
      const lists = await Promise.all(kinds.map((kind) => store.list<{ connectionId: string }>(kind)));
      const layers = lists.flat();
      const count = rasters + layers.filter((layer) => layer.body.connectionId === id).length;
      if (count > 0)
        throw new ApiError(
          'conflict',
          `${count} layers are published from '${body.name}'. Delete them first.`,
        );
      if (!(await store.remove(CONNECTION_KIND, id))) missing(id);
    });
    await this.#deps.documents.remove(CHECK, id);
    await this.#deps.settle();
  }

  /**
   * The URL for libpq, with the password. Throws `unavailable` if the password cannot be read or the host is not
   * allowed, and `invalid-request` if the target is not a database.
   */
  async urlOf({ id, body }: StoredConnection, credential?: Credential): Promise<string> {
    requireDatabase(body);
    const source = this.#sources.get(id);
    if (source) return source.place;
    const problem = hostProblem(body, this.settings.allow);
    if (problem !== undefined) throw new ApiError('unavailable', `The host ${problem}.`);
    const isNew = credential?.password !== undefined || credential?.secretReference !== undefined;
    const password = isNew ? await this.#draftSecret(credential!) : await this.#password(id, body);
    return connectionUrl(body, password, this.settings);
  }

  /** The URL without its password. */
  publicUrlOf({ id, body }: StoredConnection): string {
    const source = this.#sources.get(id);
    if (source) return publicPlace(source.place);
    return connectionUrl(body, '', this.settings);
  }

  async #password(
    id: string,
    { password, secretReference }: Pick<Connection, 'password' | 'secretReference'>,
  ): Promise<string> {
    if (secretReference !== null) return secretAt(secretReference, this.settings.secrets);
    return password === null ? '' : this.#deps.keys.open(password, id);
  }

  /** Tries a connection that is not kept. */
  async testDraft(address: TrialTarget, credential: Credential): Promise<ConnectionCheck> {
    return this.#trials.try(address, () => this.#draftSecret(credential));
  }

  async #draftSecret({ password, secretReference }: Credential): Promise<string> {
    return secretReference === undefined
      ? (password ?? '')
      : secretAt(secretReference, this.settings.secrets);
  }

  /** Tests a connection and stores the result. */
  async test({ id, body }: StoredConnection): Promise<ConnectionCheck> {
    const source = this.#sources.get(id);
    const check = source
      ? await this.#trials.trySource(source.place)
      : await this.#trials.try(body, () => this.#password(id, body));
    await this.#deps.documents.put<ConnectionCheck>(CHECK, id, check, 'system');
    return check;
  }

  /** A service with its layers. Throws `unavailable` that says why it cannot be read. */
  async service(connection: StoredConnection): Promise<RemoteService> {
    const { address, secret } = await this.#serviceOf(connection);
    const answer = await this.#deps.describe(address.provider, serviceRequest(address, secret, DISCOVERY_MS));
    if ('problem' in answer) throw new ApiError('unavailable', answer.problem.message);
    return answer;
  }

  /** A request to a service with the credentials of its connection. Throws as `urlOf` does. */
  async requestTo(connection: StoredConnection, timeoutMs: number): Promise<RemoteRequest> {
    const { address, secret } = await this.#serviceOf(connection);
    return serviceRequest(address, secret, timeoutMs);
  }

  async #serviceOf({ id, body }: StoredConnection): Promise<{ address: ServiceAddress; secret: string }> {
    const provider = getConnectionProvider(body);
    if (!isServiceKind(provider))
      throw new ApiError('invalid-request', `'${body.name}' is not a connection to a service.`);
    requireActiveConnection({ body });
    return { address: { ...body, provider }, secret: await this.#password(id, body) };
  }

  /**
   * Credentials for jobs that read a service: the id of its connection and its URL at that time. Throws the errors of
   * `urlOf`, and `unavailable` if the connection now leads to another server.
   */
  async credentialsOf(id: string, url: URL): Promise<RemoteCredentials> {
    const stored = await this.#documents.get<Connection>(CONNECTION_KIND, id);
    if (!stored) throw new ApiError('unavailable', 'The connection no longer exists. Create it again.');
    const { address, secret } = await this.#serviceOf(stored);
    if (serviceAddress(address).origin !== url.origin)
      throw new ApiError('unavailable', `'${stored.body.name}' no longer refers to ${url.host}.`);
    return credentialsWith(address, secret);
  }

  /** The bucket of a connection, with its secret. Throws `invalid-request` for another connection, and as `urlOf` does. */
  async storeOf({ id, body }: StoredConnection): Promise<ObjectStore> {
    if (!isBucketProvider(getConnectionProvider(body)) || this.isSource({ id }))
      throw new ApiError('invalid-request', `'${body.name}' is not a connection to a bucket.`);
    const store = createObjectStore(body, await this.#password(id, body));
    const problem = this.#deps.readProblem(new URL(store.endpoint));
    if (problem !== undefined) throw new ApiError('unavailable', `The store may not be read: ${problem}.`);
    return store;
  }

  /** The store of an active connection for jobs. Throws `not-found`, and what `requireActiveConnection` throws. */
  readonly activeStore = async (id: string): Promise<ObjectStore> => {
    const connection = await this.get(id);
    requireActiveConnection(connection);
    return this.storeOf(connection);
  };

  /**
   * Finds a bucket by connection id. Undefined for a deleted or disabled connection. If the secret cannot be read,
   * the bucket is read anonymously.
   */
  readonly storeFinder = async (id: string): Promise<ObjectStore | undefined> => {
    const stored = await this.#documents.get<Connection>(CONNECTION_KIND, id);
    if (!stored?.body.isActive) return undefined;
    return this.storeOf(stored).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      const { credentials: _, ...store } = createObjectStore(stored.body, '');
      return store;
    });
  };

  /** A page of the contents of a bucket. Throws `unavailable` with the reason why it cannot be listed. */
  async objects(connection: StoredConnection, query: ObjectQuery) {
    const listed = await this.#deps.listObjects(await this.storeOf(connection), query);
    if ('problem' in listed) {
      const { reason, message } = listed.problem;
      // The store says no more of a cursor that is not its own.
      const isAsked = reason === 'other' && query.cursor !== undefined;
      throw new ApiError(isAsked ? 'invalid-request' : 'unavailable', message);
    }
    return { objects: dataObjects(listed), next: listed.next };
  }

  /** Why a bucket or a service may not be connected; undefined when it may. */
  remoteProblem(address: StoreAddress): string | undefined {
    return this.#deps.readProblem(new URL(formatEndpoint(address)));
  }

  async checks(): Promise<ReadonlyMap<string, ConnectionCheck>> {
    const checks = await this.#documents.list<ConnectionCheck>(CHECK);
    return new Map(checks.map(({ id, body }) => [id, body]));
  }
}

/** Milliseconds within which a service must respond when its layers are listed. */
const DISCOVERY_MS = 30_000;

export const isDatabaseConnection = ({ body }: Pick<StoredConnection, 'body'>): boolean =>
  getConnectionProvider(body) === 'PostGIS';

/** Throws `unavailable` for a connection that is switched off. */
export function requireActiveConnection({ body }: Pick<StoredConnection, 'body'>): void {
  if (!body.isActive)
    throw new ApiError('unavailable', `The connection '${body.name}' is disabled. Enable it first.`);
}

/** Throws `invalid-request`. */
function requireDatabase(body: Connection): void {
  if (!isDatabaseConnection({ body }))
    throw new ApiError('invalid-request', `'${body.name}' is not a connection to a database.`);
}

function named(connections: readonly StoredConnection[], name: string): StoredConnection | undefined {
  const plain = name.toLowerCase();
  return connections.find(({ body }) => body.name.toLowerCase() === plain);
}

function missing(id: string): never {
  throw notFound(CONNECTION_KIND, id.slice(0, 100));
}
