import { ApiError } from '../../../../core/errors/errors.js';
import type { GeoServerCatalog, GeoServerLayer } from '../../../../core/exchange/geoserver.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import type { MigrationRequest } from './request.js';

/** The layers that a migration is about. Throws `unprocessable` for a name that the source does not have. */
export function chooseLayers(catalog: GeoServerCatalog, request: MigrationRequest): GeoServerLayer[] {
  const { workspaces, stores, layers } = request;
  requireNames('workspaceNames', workspaces, new Set(catalog.workspaces.map(({ name }) => name)));
  requireNames(
    'dataStoreNames',
    stores,
    new Set(catalog.stores.flatMap(({ workspace, name }) => [name, `${workspace}:${name}`])),
  );
  requireNames('layerNames', layers, new Set(catalog.layers.flatMap(({ id, name }) => [id, name])));
  const choice = catalog.layers.filter(
    ({ id, workspace, name, resource }) =>
      (!workspaces || (workspace !== undefined && workspaces.includes(workspace))) &&
      (!layers || layers.includes(name) || layers.includes(id)) &&
      (!stores ||
        (resource !== undefined &&
          (stores.includes(resource.store) || stores.includes(`${resource.workspace}:${resource.store}`)))),
  );
  if (choice.length === 0)
    throw unprocessable('The GeoServer has no layer to import. Select other workspaces or layers.');
  if (choice.length > EXCHANGE_LIMITS.geoServerLayers)
    throw unprocessable(
      `${choice.length} layers are selected. A migration can import at most ${EXCHANGE_LIMITS.geoServerLayers}. Select workspaces.`,
    );
  return choice;
}

function requireNames(member: string, names: readonly string[] = [], present: ReadonlySet<string>): void {
  const missing = names.find((name) => !present.has(name));
  if (missing !== undefined) throw unprocessable(`${member}: '${missing}' does not exist on the GeoServer.`);
}

export function unprocessable(message: string): ApiError {
  return new ApiError('unprocessable', message);
}
