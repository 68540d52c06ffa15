import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { ApiError, fieldFailure, notFound } from '../../../core/errors/errors.js';
import type { Box } from '../../../core/geometry/box.js';
import type { TableCheck, TableChoice, TableName, TableReport } from '../../../core/tasks/table-tasks.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import type { CollectionStore } from '../../../stores/catalog/collections.js';
import type { DocumentStore, StoredDocument } from '../../../stores/state/documents.js';
import type { Derivations } from '../../access/rules/derivations.js';
import { NOTHING_HIDDEN } from '../../access/rules/hidden.js';
import type { CopySourceLayer } from '../../access/rules/rules.js';
import {
  CONNECTION_KIND,
  type Connection,
  getConnectionProvider,
  type StoredConnection,
} from '../../connections/connection.js';
import { type Connections, type Credential, PUBLISHED_LAYER } from '../../connections/connections.js';
import { slug } from '../../kit/slug.js';
import { findSameTable, type PlacedTable } from '../copies/same-tables.js';
import type { FolderNames } from '../folder-names.js';
import type { SourceLayers } from './source-layers.js';

/** Stored record of a table that operators publish. */
export interface PublishedLayer {
  readonly layerId: number;
  readonly connectionId: string;
  readonly layerName: string;
  readonly serviceName: string;
  readonly enabled: boolean;
  readonly description: string | null;
  readonly license: string | null;
  readonly licenseUrl: string | null;
  readonly attribution: string | null;
  readonly publisher: string | null;
  readonly sourceUrl: string | null;
  readonly choice: TableChoice;
  /**
   * Description of the table at the last inspection. A server starts with it, whether the database responds or not.
   */
  readonly info: VectorLayerInfo;
  readonly inspectedAt: number;
}

/** A published layer with its id, which is the id of the collection. */
export type StoredLayer = StoredDocument<PublishedLayer>;

export type NewLayer = Omit<PublishedLayer, 'layerId' | 'connectionId' | 'info' | 'inspectedAt'>;

export interface PublishedLayersDeps {
  readonly documents: DocumentStore;
  readonly collections: Pick<CollectionStore, 'idOf'>;
  readonly connections: Connections;
  /** Layers that the configuration publishes. */
  readonly sources: Pick<SourceLayers, 'list'>;
  readonly pools: Pools;
  /** Names of collections in the data folders of several servers. Undefined with one server. */
  readonly names?: Pick<FolderNames, 'isElsewhere'>;
  catalog(): CatalogSnapshot;
  /** Records the collections that show the same table as a layer. */
  derivations: Pick<Derivations, 'record' | 'sourcesOf'>;
  /** Removes the attachments of a collection. */
  forget(id: string): Promise<void>;
  /** Waits until every process shows the change. */
  settle(): Promise<void>;
}

const DEADLINE_MS = 60_000;
/** Kind of the documents of removed layers. A document exists until all data of the layer is deleted. */
export const REMOVED_LAYER = 'removed layer';
/** Principal of removals that are completed for ended processes. */
const SYSTEM = 'system';
/** Extents that are measured at the same time. */
const PARALLEL = 4;

/** Tables that operators publish as layers. A method resolves when all processes show its change. */
export class PublishedLayers {
  readonly #documents: DocumentStore;

  constructor(private readonly deps: PublishedLayersDeps) {
    this.#documents = deps.documents.announcing('publishing');
  }

  /** Layers of a connection. Default: of all connections. */
  async list(connectionId?: string, serviceName?: string): Promise<StoredLayer[]> {
    const layers = await this.#documents.list<PublishedLayer>(PUBLISHED_LAYER);
    return layers.filter(
      ({ body }) =>
        (connectionId === undefined || body.connectionId === connectionId) &&
        (serviceName === undefined || body.serviceName === serviceName),
    );
  }

  /**
   * Throws `not-found` for a layer that is not of this connection, or not of this service, and `conflict` for one of the
   * configuration.
   */
  async get(connectionId: string, layerId: number, serviceName?: string): Promise<StoredLayer> {
    const layers = await this.list(connectionId, serviceName);
    const layer = layers.find(({ body }) => body.layerId === layerId);
    if (layer) return layer;
    const configured = await this.deps.sources.list(connectionId, serviceName);
    const other = configured.find(({ collection }) => collection.layerId === layerId);
    return other ? refuseConfigured(other.collection.id) : missing(layerId);
  }

  /**
   * Layers of a service, which are switched together. Throws `conflict` if the service only has layers of the
   * configuration.
   */
  async ofService(connectionId: string, serviceName: string): Promise<StoredLayer[]> {
    const layers = await this.list(connectionId, serviceName);
    if (layers.length > 0) return layers;
    const [other] = await this.deps.sources.list(connectionId, serviceName);
    return other ? refuseConfigured(other.collection.id) : [];
  }

  /** Checks whether a table can be published under a name. Rejects while the database does not respond. */
  async validate(
    connection: StoredConnection,
    choice: TableChoice,
    layerName: string | undefined,
  ): Promise<TableReport> {
    const database = await this.deps.connections.urlOf(connection);
    const task = this.deps.pools.run('vector.validate', { database, choice }, { deadlineMs: DEADLINE_MS });
    const [report, name] = await Promise.all([task, this.#nameCheck(layerName ?? choice.table)]);
    return { ...report, checks: [name, ...report.checks] };
  }

  async #nameCheck(layerName: string): Promise<TableCheck> {
    const id = slug(layerName);
    // Rules name layers by their ids or their numbers.
    if (/^\d+$/.test(id))
      return {
        code: 'layer-name',
        severity: 'error' as const,
        actual: id,
        message: `The name '${id}' could be the number of another layer. Add a letter to it.`,
      };
    return (await this.#isTaken(id))
      ? {
          code: 'layer-name',
          severity: 'error' as const,
          actual: id,
          message: `The collection '${id}' already exists. Choose another name.`,
        }
      : { code: 'layer-name', severity: 'pass', message: `The collection is called ${id}.`, actual: id };
  }

  async #isTaken(id: string): Promise<boolean> {
    if (this.deps.catalog().byId(id)) return true;
    if (await this.#documents.get(PUBLISHED_LAYER, id)) return true;
    return (await this.deps.names?.isElsewhere(id)) ?? false;
  }

  /**
   * Throws `conflict` for a name that is taken, `invalid-body` that names all that is wrong with the table, and what `permit`
   * throws for the layers that show the same table.
   */
  async publish(
    connection: StoredConnection,
    layer: NewLayer,
    by: string,
    permit: (sources: readonly CopySourceLayer[]) => void,
  ): Promise<StoredLayer> {
    if (this.deps.connections.isSource(connection) && getConnectionProvider(connection.body) !== 'PostGIS')
      throw new ApiError('conflict', `'${connection.body.name}' publishes all its layers automatically.`);
    const { choice, layerName } = layer;
    const { checks } = await this.validate(connection, choice, layerName);
    const [name, ...others] = checks;
    refuseErrors(others);
    if (name!.severity === 'error') throw new ApiError('conflict', name!.message);
    const { info, inspectedAt } = await this.inspect(connection, choice);
    const id = slug(layerName);
    const layerId = await this.deps.collections.idOf(id);
    const body: PublishedLayer = { ...layer, layerId, connectionId: connection.id, info, inspectedAt };
    const sources = await this.sourcesOf(id, choice, connection);
    permit(sources);
    if (await this.#documents.get(REMOVED_LAYER, id)) await this.#forget(id);
    await this.deps.derivations.record(id, sources, by);
    const stored = await this.#documents.together([CONNECTION_KIND, connection.id], async (store) => {
      const isThere =
        this.deps.connections.isSource(connection) ||
        (await store.get<Connection>(CONNECTION_KIND, connection.id)) !== undefined;
      if (!isThere) throw notFound(CONNECTION_KIND, connection.id);
      return store.create(PUBLISHED_LAYER, id, body, by);
    });
    await this.deps.settle();
    return stored;
  }

  /**
   * Description of a table as a layer. Throws `invalid-body` if the table cannot be published. Rejects if the
   * database does not respond.
   */
  async inspect(
    connection: StoredConnection,
    choice: TableChoice,
  ): Promise<Pick<PublishedLayer, 'info' | 'inspectedAt'>> {
    const database = await this.deps.connections.urlOf(connection);
    const [found] = await this.deps.pools.run(
      'vector.layers',
      { database, choices: [choice] },
      { deadlineMs: DEADLINE_MS },
    );
    if ('problem' in found!) throw new ApiError('invalid-body', found.problem);
    return { info: withoutDatabase(found!.layer), inspectedAt: Date.now() };
  }

  /** Switches layers on or off. */
  async enable(layers: readonly StoredLayer[], enabled: boolean, by: string): Promise<StoredLayer[]> {
    const changed = await this.#change(layers, by, (before) => ({ ...before, enabled }));
    await this.deps.settle();
    return changed;
  }

  #change(
    layers: readonly StoredLayer[],
    by: string,
    change: (before: PublishedLayer, i: number) => PublishedLayer,
  ): Promise<StoredLayer[]> {
    return this.#documents.together([PUBLISHED_LAYER], async (store) => {
      const changed: StoredLayer[] = [];
      for (const [i, { id }] of layers.entries())
        changed.push(
          await store.update<PublishedLayer>(PUBLISHED_LAYER, id, by, (before) => change(before, i)),
        );
      return changed;
    });
  }

  /**
   * Removes a layer. Its id stays reserved. Attachments of its features are deleted, because another table can get
   * its name.
   */
  async remove({ id, body }: StoredLayer): Promise<void> {
    await this.#documents.together([PUBLISHED_LAYER], async (store) => {
      if (!(await store.remove(PUBLISHED_LAYER, id))) missing(body.layerId);
      await store.put(REMOVED_LAYER, id, {}, SYSTEM);
    });
    await this.#forget(id);
  }

  /** Completes removals that ended processes have started. */
  async takeUp(): Promise<void> {
    for (const { id } of await this.#documents.list(REMOVED_LAYER))
      if ((await this.#documents.get(PUBLISHED_LAYER, id)) === undefined) await this.#forget(id);
  }

  /** Deletes everything that belonged to a removed layer. Its rules apply until no process shows it. */
  async #forget(id: string): Promise<void> {
    await this.deps.forget(id);
    await this.deps.settle();
    await this.deps.derivations.record(id, [], SYSTEM);
    await this.#documents.remove(REMOVED_LAYER, id);
  }

  /**
   * The layers that show a table, including disabled ones. A further layer of the table is a copy of them, so it does
   * not bypass their rules. `url` has the password if it differs from the stored one.
   */
  async sourcesOf(
    id: string,
    { schema, table }: TableName,
    connection: StoredConnection,
    url = () => this.deps.connections.urlOf(connection),
  ): Promise<CopySourceLayer[]> {
    const { connections, derivations, pools } = this.deps;
    const one = { schema, table, shownUrl: connections.publicUrlOf(connection), url };
    const others = [...(await this.#storedTables()), ...this.#shownTables()];
    const same = await findSameTable(
      pools,
      one,
      others.filter(({ layer }) => layer.id !== id),
    );
    // The further layer shows the table itself, including data that settings of the other layers hide.
    const isSame = new Set(same.map(({ layer }) => layer.id));
    return derivations
      .sourcesOf(same.map(({ layer }) => layer))
      .map((source) =>
        isSame.has(source.id) ? { ...source, hidden: NOTHING_HIDDEN, isTable: true } : source,
      );
  }

  async #storedTables(): Promise<(PlacedTable & { layer: CopySourceLayer })[]> {
    const { connections } = this.deps;
    const byId = new Map((await connections.list()).map((one) => [one.id, one]));
    return (await this.list()).flatMap(({ id, body }) => {
      const connection = byId.get(body.connectionId);
      if (!connection) return [];
      const { schema, table } = body.choice;
      return {
        layer: { id, layerId: body.layerId, service: body.serviceName },
        schema,
        table,
        shownUrl: connections.publicUrlOf(connection),
        url: () => connections.urlOf(connection),
      };
    });
  }

  #shownTables(): (PlacedTable & { layer: Collection })[] {
    return this.deps.catalog().collections.flatMap((layer) => {
      if (!hasFeatures(layer)) return [];
      const { database, schema, table } = layer.rule?.stored ?? layer.source;
      if (database === undefined || schema === undefined) return [];
      return { layer, schema, table, shownUrl: database, url: () => Promise.resolve(database) };
    });
  }

  /**
   * Call before a connection changes to another database. Its layers become copies of the layers that show the same
   * tables there.
   */
  async nameSources(
    before: StoredConnection,
    after: StoredConnection,
    credential: Credential,
    by: string,
  ): Promise<void> {
    const { connections } = this.deps;
    const [former, present] = [before, after].map((one) => connections.publicUrlOf(one));
    if (former === present) return;
    for (const { id, body } of await this.list(before.id)) {
      const url = () => connections.urlOf(after, credential);
      const sources = await this.sourcesOf(id, body.choice, after, url);
      if (sources.length > 0) await this.deps.derivations.record(id, sources, by);
    }
  }

  /**
   * Measures extents again. An extent is undefined if the layer is empty or cannot be read. Rejects if no layer can
   * be read.
   */
  async refreshExtents(
    connection: StoredConnection,
    layers: readonly StoredLayer[],
    by: string,
  ): Promise<{ layers: StoredLayer[]; changed: boolean }> {
    if (layers.length === 0) return { layers: [], changed: false };
    const database = await this.deps.connections.urlOf(connection);
    const extents = await mapInLanes(layers, PARALLEL, async ({ body: { info } }) => {
      const source = { ...info.source, database };
      return this.deps.pools
        .run('vector.extent', { source, filter: undefined }, { deadlineMs: DEADLINE_MS })
        .catch((error: unknown) => ({ error }));
    });
    const failures = extents.flatMap((one) => ('error' in one ? [one.error] : []));
    if (failures.length > 0 && failures.length === layers.length) throw failures[0];
    const changed = extents.some(
      (one, i) => !('error' in one) && !isSameBox(one.extent84, layers[i]!.body.info.extent84),
    );
    const inspectedAt = Date.now();
    const stored = await this.#change(layers, by, (before, i) => {
      const { extent, extent84, error } = extents[i]! as { extent?: Box; extent84?: Box; error?: unknown };
      if (error !== undefined) return before;
      const { extent: _, extent84: _84, ...info } = before.info;
      return {
        ...before,
        inspectedAt,
        info: { ...info, ...(extent ? { extent } : {}), ...(extent84 ? { extent84 } : {}) },
      };
    });
    await this.deps.settle();
    return { layers: stored, changed };
  }

  /** Inspects the table again, and counts its rows exactly. */
  async refresh(connection: StoredConnection, layer: StoredLayer, by: string): Promise<StoredLayer> {
    const { info, inspectedAt } = await this.inspect(connection, layer.body.choice);
    const database = await this.deps.connections.urlOf(connection);
    const source = { ...info.source, database };
    const featureCount = await this.deps.pools.run(
      'vector.count',
      { source, filter: undefined },
      { deadlineMs: DEADLINE_MS },
    );
    const { countEstimated: _, ...rest } = info;
    const [stored] = await this.#change([layer], by, (before) => ({
      ...before,
      inspectedAt,
      info: { ...rest, featureCount },
    }));
    await this.deps.settle();
    return stored!;
  }
}

function refuseErrors(checks: readonly TableCheck[]): void {
  const errors = checks.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  throw fieldFailure(
    'invalid-body',
    errors.map(({ code, message }) => ({ name: '/table', detail: message, code })),
  );
}

/** The password is that of the connection, whenever it is used. */
function withoutDatabase(layer: VectorLayerInfo): VectorLayerInfo {
  const { database: _, ...source } = layer.source;
  return { ...layer, source };
}

const isSameBox = (a: Box | undefined, b: Box | undefined) => JSON.stringify(a) === JSON.stringify(b);

function refuseConfigured(id: string): never {
  throw new ApiError('conflict', `The layer '${id}' is defined in the configuration. Change it there.`);
}

function missing(layerId: number): never {
  throw notFound('layer', `${layerId}`);
}
