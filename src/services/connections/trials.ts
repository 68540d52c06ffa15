import type { Config } from '../../core/config/config.js';
import { ApiError } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { RemoteRequest, ServiceAnswer, SourceKind } from '../../core/exchange/ingest.js';
import { isDatabase } from '../../core/sources/database-url.js';
import type { ListedObjects, ObjectStore } from '../../core/sources/object-stores.js';
import { isPath } from '../../core/sources/sources.js';
import { getConnectionProvider } from './connection.js';
import { filesHealth } from './files.js';
import {
  createObjectStore,
  describeBucketHealth,
  isBucketProvider,
  type ObjectQuery,
  type StoreAddress,
} from './object-store.js';
import { type ConnectionHealth, probeConnection } from './probe.js';
import { isServiceKind, type ServiceAddress, serviceRequest } from './service-address.js';

/** Result of the last test of a connection. */
export interface ConnectionCheck extends ConnectionHealth {
  readonly testedAt: number;
}

/** Target of a test. */
export type TrialTarget = StoreAddress;

export interface TrialDeps {
  readonly settings: Config['connections'];
  /** Connects to a database as the workers do. Rejects when that fails. */
  ping(database: string): Promise<unknown>;
  /** Reads what is at a URL: what keeps it from being published, or undefined. */
  read(url: string): Promise<string | undefined>;
  /** A page of the objects of a bucket. */
  listObjects(store: ObjectStore, query: ObjectQuery): Promise<ListedObjects>;
  /** A service of another server with its layers, or what keeps it from being read. */
  describe(kind: SourceKind, request: RemoteRequest): Promise<ServiceAnswer>;
}

/** Milliseconds within which a service must respond. */
const SERVICE_MS = 10_000;

/** Tests connections, and reports problems. */
export class ConnectionTrials {
  constructor(private readonly deps: TrialDeps) {}

  /** Tests a connection by operators. `secret` can throw if the secret cannot be read. */
  async try(target: TrialTarget, secret: () => Promise<string>): Promise<ConnectionCheck> {
    const testedAt = Date.now();
    try {
      return { ...(await this.#health(target, await secret())), testedAt };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { isHealthy: false, reason: 'secret', message: error.message, testedAt };
    }
  }

  async #health(target: TrialTarget, secret: string): Promise<ConnectionHealth> {
    const provider = getConnectionProvider(target);
    if (isServiceKind(provider)) return this.#serviceHealth({ ...target, provider }, secret);
    if (!isBucketProvider(provider)) return probeConnection(target, secret, this.deps.settings);
    const store = createObjectStore(target, secret);
    return describeBucketHealth(await this.deps.listObjects(store, { prefix: '', limit: 1 }), store.bucket);
  }

  async #serviceHealth(target: ServiceAddress, secret: string): Promise<ConnectionHealth> {
    const request = serviceRequest(target, secret, SERVICE_MS);
    const answer = await this.deps.describe(target.provider, request);
    if ('problem' in answer) return { isHealthy: false, ...answer.problem };
    const { name, layers } = answer;
    const message = `The service ${name} responds with ${layers.length} layers.`;
    return { isHealthy: true, reason: 'ok', message };
  }

  /** A source of the configuration, as the server itself reads it. */
  async trySource(place: string): Promise<ConnectionCheck> {
    if (isDatabase(place)) return this.#ping(place);
    const health = await (isPath(place) ? filesHealth(place) : this.#urlHealth(place));
    return { ...health, testedAt: Date.now() };
  }

  async #urlHealth(url: string): Promise<ConnectionHealth> {
    const problem = await this.deps.read(url);
    return problem === undefined
      ? { isHealthy: true, reason: 'ok', message: 'The URL can be read.' }
      : { isHealthy: false, reason: 'other', message: problem };
  }

  /** The workers test the URL, because it can contain parameters that an address lacks. */
  async #ping(url: string): Promise<ConnectionCheck> {
    const testedAt = Date.now();
    try {
      await this.deps.ping(url);
      return { isHealthy: true, reason: 'ok', message: 'The database responds.', testedAt };
    } catch (error) {
      if (!(error instanceof TaskFailure)) throw error;
      return { isHealthy: false, reason: 'other', message: error.message, testedAt };
    }
  }
}
