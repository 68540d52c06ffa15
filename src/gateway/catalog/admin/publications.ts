import { formatActor, type Principal } from '../../../core/http/operation.js';
import type { TableChoice, TableReport } from '../../../core/tasks/table-tasks.js';
import { copyRight } from '../../../services/access/rules/derivations.js';
import type { RuledLayer } from '../../../services/access/rules/rules.js';
import type { NewLayer } from '../../../services/catalog/publish/layers.js';
import type { StoredConnection } from '../../../services/connections/connection.js';
import type { AdminDeps } from '../../admin/deps.js';
import { requireSources, requireWholeLayers, ruledLayer } from '../../admin/layer-rights.js';
import type { PublishedLayerBody } from '../../admin/published-layer.js';
import { copyReport, copyView, createNewCopy } from './layer-copies.js';
import { tableLayerView } from './table-layers.js';

export type PublicationDeps = Pick<
  AdminDeps,
  'cache' | 'connections' | 'layerCopies' | 'layers' | 'publishedLayers' | 'rules'
>;

/** A published layer, and what rules know of it. */
interface Publication {
  readonly rule: RuledLayer;
  readonly view: PublishedLayerBody;
}

/** One layer of a connection, or all that it has in a service. */
type Selection = { layerId: number; serviceName?: string | undefined } | { serviceName: string };

/** Layers that an operator published from a connection: database tables, or copies of remote layers and files. */
export interface Publications {
  list(serviceName?: string): Promise<Publication[]>;
  /** Rejects with `not-found`. */
  get(layerId: number, serviceName?: string): Promise<Publication>;
  validate(choice: TableChoice, layerName: string | undefined): Promise<TableReport>;
  /** Resolves once every process shows the layer. */
  publish(layer: NewLayer, principal: Principal): Promise<PublishedLayerBody>;
  /** Switches layers on or off. To switch a layer on takes the right to read all of it. */
  enable(selection: Selection, enabled: boolean, principal: Principal): Promise<PublishedLayerBody[]>;
  /** Reads the source again. */
  refresh(layerId: number, principal: Principal): Promise<RefreshedLayer>;
  remove(layerId: number, serviceName: string | undefined, principal: Principal): Promise<void>;
}

interface RefreshedLayer {
  readonly layerName: string;
  readonly schema: string;
  readonly table: string;
  readonly featureCount: number;
}

/** The publications of a connection. */
export function openPublications(connection: StoredConnection, deps: PublicationDeps): Publications {
  return deps.connections.isRemote(connection) ? openCopies(connection, deps) : openTables(connection, deps);
}

function openTables(connection: StoredConnection, deps: PublicationDeps): Publications {
  const { publishedLayers: layers, cache, rules } = deps;
  const { id } = connection;
  return {
    async list(serviceName) {
      const all = await layers.list(id, serviceName);
      return all.map((layer) => ({ rule: ruledLayer(layer), view: tableLayerView(layer) }));
    },
    async get(layerId, serviceName) {
      const layer = await layers.get(id, layerId, serviceName);
      return { rule: ruledLayer(layer), view: tableLayerView(layer) };
    },
    validate: (choice, layerName) => layers.validate(connection, choice, layerName),
    async publish(layer, principal) {
      const by = formatActor(principal);
      return tableLayerView(
        await layers.publish(connection, layer, by, (sources) => requireSources(sources, principal, deps)),
      );
    },
    async enable(selection, enabled, principal) {
      const all =
        'layerId' in selection
          ? [await layers.get(id, selection.layerId, selection.serviceName)]
          : await layers.ofService(id, selection.serviceName);
      if (enabled) requireWholeLayers(all.map(ruledLayer), 'read', principal, rules);
      return (await layers.enable(all, enabled, formatActor(principal))).map(tableLayerView);
    },
    async refresh(layerId, principal) {
      const layer = await layers.get(id, layerId);
      const { body } = await layers.refresh(connection, layer, formatActor(principal));
      await cache.invalidate({ kind: 'layer', layerId });
      const { schema, table } = body.choice;
      return { layerName: body.layerName, schema, table, featureCount: body.info.featureCount };
    },
    async remove(layerId, serviceName) {
      await layers.remove(await layers.get(id, layerId, serviceName));
    },
  };
}

function openCopies(connection: StoredConnection, deps: PublicationDeps): Publications {
  const { layerCopies: copies, rules } = deps;
  const { id } = connection;
  return {
    async list(serviceName) {
      const all = await copies.list(id, serviceName);
      return all.map((copy) => ({ rule: copy.collection, view: copyView(copy) }));
    },
    async get(layerId, serviceName) {
      const copy = await copies.get(id, layerId, serviceName);
      return { rule: copy.collection, view: copyView(copy) };
    },
    validate: async (choice, layerName) => copyReport(await copies.validate(connection, choice, layerName)),
    async publish(layer, principal) {
      const publisher = { right: copyRight(principal, rules.current), by: formatActor(principal) };
      return copyView(await copies.publish(connection, createNewCopy(layer), publisher));
    },
    async enable(selection, enabled, principal) {
      const all =
        'layerId' in selection
          ? [await copies.get(id, selection.layerId, selection.serviceName)]
          : await copies.list(id, selection.serviceName);
      const collections = all.map(({ collection }) => collection);
      if (enabled) requireWholeLayers(collections, 'read', principal, rules);
      return (await copies.enable(all, enabled, formatActor(principal))).map(copyView);
    },
    async refresh(layerId, principal) {
      const copy = await copies.get(id, layerId);
      const featureCount = await copies.refresh(connection, copy, formatActor(principal));
      const { layerName, schema, table } = copy.stored.body;
      return { layerName, schema, table, featureCount };
    },
    async remove(layerId, serviceName, principal) {
      await copies.remove(await copies.get(id, layerId, serviceName), formatActor(principal));
    },
  };
}
