import { createHash } from 'node:crypto';
import { SERVICE } from '../../../core/access/access.js';
import type { Collection, QuarantineEntry } from '../../../core/catalog/collection.js';
import type { LayerAbout } from '../../../core/catalog/layer-settings.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { withoutPassword } from '../../../core/sources/database-url.js';
import type { TableLayer } from '../../../core/tasks/table-tasks.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { Announcements } from '../../cluster/announcements.js';
import { CONNECTION_KIND, type Connection, type StoredConnection } from '../../connections/connection.js';
import { type Connections, isDatabaseConnection, PUBLISHED_LAYER } from '../../connections/connections.js';
import type { CatalogLayers } from './catalog-layers.js';
import { vectorCollection } from './collections.js';
import type { PublishedLayer, StoredLayer } from './layers.js';

/** Interval for checking tables for changes of columns and rights, in milliseconds. */
const LOOK_MS = 30_000;
const DEADLINE_MS = 60_000;
/** Number of tables that one task checks. */
const BATCH = 50;

export interface LayerDisplayDeps {
  readonly documents: DocumentStore;
  readonly connections: Connections;
  readonly announcements: Pick<Announcements, 'on'>;
  readonly pools: Pools;
  show(layers: CatalogLayers): void;
  /** Receives the URLs of the databases to monitor. */
  connect(urls: readonly string[]): void;
  /** Called with errors of checks. */
  onError(error: unknown): void;
}

interface Shown {
  stored: StoredLayer;
  info: VectorLayerInfo;
  readAt: number;
  /** Fingerprint of the table as in `info`. Undefined before the first check. */
  fingerprint?: string | null;
  /** Reason why the table cannot be read as published. */
  problem?: string;
  collection?: Collection;
}

interface ConnectionUrl {
  stored: StoredConnection;
  url: string;
  /** Why it has no password. */
  problem?: string;
}

/**
 * Shows published layers in the catalog of this process, and follows changes by other processes. Descriptions of the
 * tables are in the state database, so layers exist from the start. Their tables are then checked while the catalog
 * is running.
 */
export class LayerDisplay {
  readonly #layers = new Map<string, Shown>();
  readonly #connections = new Map<string, ConnectionUrl>();
  readonly #deps: LayerDisplayDeps;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(deps: LayerDisplayDeps) {
    this.#deps = deps;
    deps.announcements.on('publishing', (subjects) =>
      this.load(subjects as readonly { kind: string; id: string }[] | 'all'),
    );
  }

  /** Loads documents: all, or the changed ones. */
  async load(subjects: readonly { kind: string; id: string }[] | 'all' = 'all'): Promise<void> {
    const { documents } = this.#deps;
    if (subjects === 'all') {
      const [connections, layers] = await Promise.all([
        this.#deps.connections.databases(),
        documents.list<PublishedLayer>(PUBLISHED_LAYER),
      ]);
      keepOnly(this.#connections, connections);
      keepOnly(this.#layers, layers);
      for (const one of connections) await this.#takeConnection(one);
      for (const one of layers) this.#takeLayer(one);
    } else for (const one of subjects) await this.#take(one);
    this.#show();
    // Another user, or another database, may read other tables.
    if (subjects !== 'all' && subjects.some(({ kind }) => kind === CONNECTION_KIND)) void this.look();
  }

  async #take({ kind, id }: { kind: string; id: string }): Promise<void> {
    const { documents } = this.#deps;
    if (kind === CONNECTION_KIND) {
      const stored = await documents.get<Connection>(CONNECTION_KIND, id);
      if (stored && isDatabaseConnection(stored)) await this.#takeConnection(stored);
      else this.#connections.delete(id);
    } else {
      const stored = await documents.get<PublishedLayer>(PUBLISHED_LAYER, id);
      if (stored) this.#takeLayer(stored);
      else this.#layers.delete(id);
    }
  }

  async #takeConnection(stored: StoredConnection): Promise<void> {
    const { connections } = this.#deps;
    const connected = await connections.urlOf(stored).then(
      (url): ConnectionUrl => ({ stored, url }),
      // The layers exist, and their requests fail because the database does not respond.
      (error: unknown): ConnectionUrl => ({
        stored,
        url: connections.publicUrlOf(stored),
        problem: (error as Error).message,
      }),
    );
    if (connected.url !== this.#connections.get(stored.id)?.url)
      for (const shown of this.#layersOf(stored.id)) delete shown.collection;
    this.#connections.set(stored.id, connected);
  }

  #takeLayer(stored: StoredLayer): void {
    const before = this.#layers.get(stored.id);
    if (before && before.stored.body.inspectedAt === stored.body.inspectedAt) {
      before.stored = stored;
      delete before.collection;
    } else this.#layers.set(stored.id, { stored, info: stored.body.info, readAt: Date.now() });
  }

  #layersOf(connectionId: string): Shown[] {
    return [...this.#layers.values()].filter(({ stored }) => stored.body.connectionId === connectionId);
  }

  #show(): void {
    const collections: Collection[] = [];
    const quarantined: QuarantineEntry[] = [];
    for (const shown of this.#layers.values()) {
      const { stored, problem } = shown;
      const connected = this.#connections.get(stored.body.connectionId);
      if (!stored.body.enabled || !connected?.stored.body.isActive) continue;
      try {
        collections.push((shown.collection ??= layerCollection(shown.stored, shown, connected.url)));
      } catch (error) {
        quarantined.push(this.#finding(shown, connected, (error as Error).message));
      }
      if (problem !== undefined) quarantined.push(this.#finding(shown, connected, problem));
    }
    for (const { url, problem, stored } of this.#connections.values())
      if (problem !== undefined && stored.body.isActive)
        quarantined.push({ path: withoutPassword(url), reason: problem });
    collections.sort((a, b) => a.layerId - b.layerId);
    this.#deps.show({ collections, ids: new Set(this.#layers.keys()), quarantined });
    const used = new Set(collections.map(({ file }) => file));
    const active = [...this.#connections.values()].filter(({ stored }) => stored.body.isActive);
    this.#deps.connect(active.map(({ url }) => url).filter((url) => used.has(withoutPassword(url))));
  }

  #finding({ stored }: Shown, { url }: ConnectionUrl, reason: string): QuarantineEntry {
    const { schema, table } = stored.body.choice;
    return { path: withoutPassword(url), layer: `${stored.id} (${schema}.${table})`, reason };
  }

  /** Starts checking the tables at an interval. */
  watch(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
    void this.look();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Checks tables that changed or were not checked yet. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#lookAtAll().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookAtAll(): Promise<void> {
    for (const { stored } of [...this.#connections.values()]) {
      try {
        if (await this.#lookAt(stored)) this.#show();
      } catch (error) {
        // Another component reports a database that is down.
        if (!(error instanceof TaskFailure)) this.#deps.onError(error);
      }
    }
  }

  /** Whether anything changed. */
  async #lookAt(connection: StoredConnection): Promise<boolean> {
    const before = this.#connections.get(connection.id);
    if (!before) return false;
    // A password that is stored elsewhere may have changed.
    await this.#takeConnection(before.stored);
    const { url, problem, stored } = this.#connections.get(connection.id)!;
    const isOther = url !== before.url || problem !== before.problem;
    const layers = this.#layersOf(connection.id).filter((shown) => shown.stored.body.enabled);
    if (layers.length === 0 || problem !== undefined || !stored.body.isActive) return isOther;
    const stale = await this.#stale(url, layers);
    for (let i = 0; i < stale.length; i += BATCH) await this.#renew(url, stale.slice(i, i + BATCH));
    return isOther || stale.length > 0;
  }

  /** Layers whose table has changed. */
  async #stale(
    database: string,
    layers: readonly Shown[],
  ): Promise<{ shown: Shown; fingerprint: string | null }[]> {
    const tables = layers.map(({ stored: { body } }) => ({
      schema: body.choice.schema,
      table: body.choice.table,
    }));
    const now = await this.#deps.pools.run(
      'vector.fingerprints',
      { database, tables },
      { deadlineMs: DEADLINE_MS },
    );
    return layers
      .map((shown, i) => ({ shown, fingerprint: now[i]! }))
      .filter(({ shown, fingerprint }) => shown.fingerprint !== fingerprint);
  }

  async #renew(
    database: string,
    layers: readonly { shown: Shown; fingerprint: string | null }[],
  ): Promise<void> {
    const choices = layers.map(({ shown }) => shown.stored.body.choice);
    const found = await this.#deps.pools.run(
      'vector.layers',
      { database, choices },
      { deadlineMs: DEADLINE_MS },
    );
    for (const [i, { shown, fingerprint }] of layers.entries()) {
      shown.fingerprint = fingerprint;
      renew(shown, found[i]!);
    }
  }
}

/** Applies the check of a table. While the table cannot be read, the published layer is unchanged. */
function renew(shown: Shown, found: TableLayer): void {
  if ('problem' in found) {
    shown.problem = found.problem;
    return;
  }
  delete shown.problem;
  delete shown.collection;
  shown.info = found.layer;
  shown.readAt = Date.now();
}

/** A published layer as a collection, from the description of the table at its last reading. */
export function layerCollection(
  { id, body }: Pick<StoredLayer, 'id' | 'body'>,
  { info, readAt }: Pick<Shown, 'info' | 'readAt'>,
  url: string,
): Collection {
  const { layerId, layerName, serviceName, description } = body;
  const source = { ...info.source, database: url };
  const file = withoutPassword(url);
  const { database: _, ...definition } = source;
  const origin = createHash('sha1')
    .update(`${file}${JSON.stringify(definition)}`)
    .digest('hex')
    .slice(0, 12);
  const versions = { version: `${origin}.${readAt.toString(36)}`, origin, readAt };
  const collection = vectorCollection({ ...info, source }, file, versions)(id, layerId);
  return {
    ...collection,
    ...(serviceName === SERVICE ? {} : { service: serviceName }),
    title: layerName,
    description: description ?? collection.description,
    about: buildAbout(body),
  };
}

function buildAbout(layer: PublishedLayer): LayerAbout {
  const { license, licenseUrl, attribution, publisher, sourceUrl } = layer;
  const words = Object.entries({ license, licenseUrl, attribution, publisher, sourceUrl });
  return Object.fromEntries(words.filter(([, text]) => text !== null && text !== ''));
}

function keepOnly(map: Map<string, unknown>, stored: readonly { id: string }[]): void {
  const ids = new Set(stored.map(({ id }) => id));
  for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
}
