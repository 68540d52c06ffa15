import { randomUUID } from 'node:crypto';
import type { Config } from '../../core/config.js';
import { isDatabase } from '../../core/database-url.js';
import { ApiError, notFound } from '../../core/errors.js';
import { TaskFailure } from '../../core/failure.js';
import { isPath } from '../../core/sources.js';
import type { DocumentStore, StoredDocument } from '../../stores/documents.js';
import { type KeyVersion, keyVersionOf, type SecretKeys } from '../access/secret-keys.js';
import { type Address, type Connection, connectionUrl, providerOf } from './connection.js';
import { filesHealth } from './files.js';
import { hostProblem } from './hosts.js';
import { type ConnectionHealth, probe } from './probe.js';
import { secretAt } from './secrets.js';
import { publicPlace, type SourceConnection, sourceConnections, sourceFinder } from './sources.js';

export const CONNECTION = 'connection';
export const PUBLISHED_LAYER = 'published layer';
const CHECK = 'connection check';

export type StoredConnection = StoredDocument<Connection>;

/** How a connection answered when it was tried last. */
export interface ConnectionCheck extends ConnectionHealth {
  readonly testedAt: number;
}

/** A password that is given, or where it is kept. */
export interface Credential {
  readonly password?: string | undefined;
  readonly secretReference?: string | undefined;
  readonly secretType?: string | undefined;
}

export interface ConnectionsDeps {
  readonly documents: DocumentStore;
  readonly keys: SecretKeys;
  readonly settings: Config['connections'];
  /** What the configuration and the command line publish: connections that are changed there alone. */
  sources(): readonly string[];
  /** Connects to a database as the workers do. Rejects when that fails. */
  ping(database: string): Promise<unknown>;
  /** Reads what is at a URL: what keeps it from being published, or undefined. */
  read(url: string): Promise<string | undefined>;
  /** Waits until every process has taken over what changed. */
  settle(): Promise<void>;
}

/** What operators connect, and the sources of the configuration, which are changed there alone. */
export class Connections {
  readonly #documents: DocumentStore;
  readonly #deps: ConnectionsDeps;
  readonly #openedAt = Date.now();
  #configured: { places: readonly string[]; byId: ReadonlyMap<string, SourceConnection> } | undefined;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
    this.#documents = deps.documents.announcing('publishing');
  }

  /** A reload of the configuration may have brought others. */
  get #sources(): ReadonlyMap<string, SourceConnection> {
    const places = this.#deps.sources();
    if (this.#configured?.places !== places)
      this.#configured = { places, byId: sourceConnections(places, this.#openedAt) };
    return this.#configured.byId;
  }

  get settings(): Config['connections'] {
    return this.#deps.settings;
  }

  /** Those of the configuration first. */
  async list(): Promise<StoredConnection[]> {
    return [...this.sources, ...(await this.#stored())];
  }

  /** Those that tables can be published from. */
  async databases(): Promise<StoredConnection[]> {
    return (await this.list()).filter(isDatabaseConnection);
  }

  /** Those of the configuration. */
  get sources(): StoredConnection[] {
    return [...this.#sources.values()].map(({ stored }) => stored);
  }

  /** Finds the source that a collection is of, by the file that it names. */
  sourceFinder(): ReturnType<typeof sourceFinder> {
    return sourceFinder(this.#sources.values());
  }

  isSource({ id }: Pick<StoredConnection, 'id'>): boolean {
    return this.#sources.has(id);
  }

  #stored(): Promise<StoredConnection[]> {
    return this.#documents.list<Connection>(CONNECTION);
  }

  /** By id or name. Throws `not-found`. */
  async get(idOrName: string): Promise<StoredConnection> {
    const id = idOrName.toLowerCase();
    const byId = this.#sources.get(id)?.stored ?? (await this.#documents.get<Connection>(CONNECTION, id));
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
    const stored = await this.#documents.together([CONNECTION], async (store) => {
      if (named([...this.sources, ...(await store.list<Connection>(CONNECTION))], body.name))
        throw new ApiError('conflict', `There is a connection '${body.name}' already.`);
      return store.create(CONNECTION, id, body, by);
    });
    await this.#deps.settle();
    return stored;
  }

  /** What is left out of the change keeps its value. Throws `not-found`, and `conflict` for one of the configuration. */
  async update(
    connection: StoredConnection,
    by: string,
    change: (before: Connection) => Partial<Connection>,
    credential: Credential = {},
    ifMatch?: string,
  ): Promise<StoredConnection> {
    this.requireOwn(connection);
    const { id } = connection;
    const isNew = credential.password !== undefined || credential.secretReference !== undefined;
    const secret = isNew ? await this.#secretOf(id, credential) : {};
    const changed = await this.#documents.update<Connection>(
      CONNECTION,
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
        `'${connection.body.name}' stands in the configuration: change it there.`,
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
    await this.#documents.together([CONNECTION, id], async (store) => {
      const layers = await store.list<{ connectionId: string }>(PUBLISHED_LAYER);
      const count = layers.filter((layer) => layer.body.connectionId === id).length;
      if (count > 0)
        throw new ApiError(
          'conflict',
          `${count} layers are published from '${body.name}': delete them first.`,
        );
      if (!(await store.remove(CONNECTION, id))) missing(id);
    });
    await this.#deps.documents.remove(CHECK, id);
    await this.#deps.settle();
  }

  /**
   * What libpq connects by, with the password. Throws `unavailable` when that cannot be read, or the host is not allowed,
   * and `invalid-request` for what is no database.
   */
  async urlOf({ id, body }: StoredConnection): Promise<string> {
    requireDatabase(body);
    const source = this.#sources.get(id);
    if (source) return source.place;
    const problem = hostProblem(body, this.settings.allow);
    if (problem !== undefined) throw new ApiError('unavailable', problem);
    return connectionUrl(body, await this.#password(id, body), this.settings);
  }

  /** The same without its password. */
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
  async testDraft(address: Address, { password, secretReference }: Credential): Promise<ConnectionCheck> {
    const secret = () =>
      secretReference === undefined
        ? Promise.resolve(password ?? '')
        : secretAt(secretReference, this.settings.secrets);
    return this.#tried(address, secret);
  }

  /** Tries a connection and remembers how that went. */
  async test({ id, body }: StoredConnection): Promise<ConnectionCheck> {
    const source = this.#sources.get(id);
    const check = source
      ? await this.#read(source.place)
      : await this.#tried(body, () => this.#password(id, body));
    await this.#deps.documents.put<ConnectionCheck>(CHECK, id, check, 'system');
    return check;
  }

  /** A source as the server itself reads it. */
  async #read(place: string): Promise<ConnectionCheck> {
    if (isDatabase(place)) return this.#pinged(place);
    const health = await (isPath(place) ? filesHealth(place) : this.#urlHealth(place));
    return { ...health, testedAt: Date.now() };
  }

  async #urlHealth(url: string): Promise<ConnectionHealth> {
    const problem = await this.#deps.read(url);
    return problem === undefined
      ? { isHealthy: true, reason: 'ok', message: 'The URL can be read.' }
      : { isHealthy: false, reason: 'other', message: problem };
  }

  /** The URL may say what an address does not hold, so the workers try it. */
  async #pinged(url: string): Promise<ConnectionCheck> {
    const testedAt = Date.now();
    try {
      await this.#deps.ping(url);
      return { isHealthy: true, reason: 'ok', message: 'The database answers.', testedAt };
    } catch (error) {
      if (!(error instanceof TaskFailure)) throw error;
      return { isHealthy: false, reason: 'other', message: error.message, testedAt };
    }
  }

  async #tried(address: Address, secret: () => Promise<string>): Promise<ConnectionCheck> {
    const testedAt = Date.now();
    try {
      return { ...(await probe(address, await secret(), this.settings)), testedAt };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { isHealthy: false, reason: 'secret', message: error.message, testedAt };
    }
  }

  async checks(): Promise<ReadonlyMap<string, ConnectionCheck>> {
    const checks = await this.#documents.list<ConnectionCheck>(CHECK);
    return new Map(checks.map(({ id, body }) => [id, body]));
  }

  /** Whether every password can be read, and by which version of the key. */
  async validateEncryption(): Promise<{ isValid: boolean; version: number; message: string }> {
    const { keys } = this.#deps;
    const version = (await keys.versions()).at(-1)?.version ?? 0;
    if (!keys.encrypts)
      return {
        ...{ isValid: false, version },
        message: 'security.stateKey is not set: passwords lie in the state as they are.',
      };
    const secrets = (await this.#stored()).flatMap(({ id, body: { password, name } }) =>
      password === null ? [] : [{ id, name, password }],
    );
    const problems = await Promise.all(secrets.map((one) => this.#secretProblem(one)));
    const [problem] = problems.filter((one) => one !== undefined);
    return {
      ...{ isValid: problem === undefined, version },
      message: problem ?? `${secrets.length} passwords are encrypted and can be read.`,
    };
  }

  async #secretProblem(one: { id: string; name: string; password: string }): Promise<string | undefined> {
    if (keyVersionOf(one.password) === null)
      return `The password of '${one.name}' lies in the state as it is: rotate the key.`;
    try {
      await this.#deps.keys.open(one.password, one.id);
      return undefined;
    } catch (error) {
      return `The password of '${one.name}' cannot be read: ${(error as Error).message}`;
    }
  }

  /**
   * Makes a new key and wraps all passwords anew, one by one: whatever ends it, each can be read, and the next rotation
   * goes on. Throws `invalid-request` without `security.stateKey`.
   */
  async rotateKey(by: string): Promise<{ before: number; after: KeyVersion; secrets: number }> {
    const { keys } = this.#deps;
    if (!keys.encrypts)
      throw new ApiError('invalid-request', 'security.stateKey is not set: there is no key to rotate.');
    const rotation = await keys.advance();
    let secrets = 0;
    for (const one of await this.#stored()) if (await this.#rewrap(one, by)) secrets++;
    await this.#deps.settle();
    return { ...rotation, secrets };
  }

  /** Again when somebody set another password meanwhile. */
  async #rewrap({ id, etag, body }: StoredConnection, by: string): Promise<boolean> {
    if (body.password === null) return false;
    const password = await this.#deps.keys.rewrap(body.password, id);
    try {
      await this.#documents.update<Connection>(CONNECTION, id, by, (now) => ({ ...now, password }), etag);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || !/not-found|precondition-failed/.test(error.code)) throw error;
      const now = await this.#documents.get<Connection>(CONNECTION, id);
      return now ? this.#rewrap(now, by) : false;
    }
  }
}

export const isDatabaseConnection = ({ body }: Pick<StoredConnection, 'body'>): boolean =>
  providerOf(body) === 'PostGIS';

/** Throws `invalid-request`. */
function requireDatabase(body: Connection): void {
  if (!isDatabaseConnection({ body }))
    throw new ApiError('invalid-request', `'${body.name}' is no database: no table of it can be chosen.`);
}

function named(connections: readonly StoredConnection[], name: string): StoredConnection | undefined {
  const plain = name.toLowerCase();
  return connections.find(({ body }) => body.name.toLowerCase() === plain);
}

function missing(id: string): never {
  throw notFound(CONNECTION, id.slice(0, 100));
}
