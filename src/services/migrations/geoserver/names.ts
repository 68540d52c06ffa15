import type { GeoServerLayer } from '../../../core/geoserver.js';
import { tableName } from '../../table-name.js';
import type { MigrationRequest } from './request.js';

/** `topp:tasmania roads` as `topp_tasmania_roads`. */
export function nameOf(
  { workspace, name }: Pick<GeoServerLayer, 'workspace' | 'name'>,
  request: MigrationRequest,
): string {
  const { workspaceNames, defaultWorkspace } = request;
  const source = workspace ?? defaultWorkspace;
  const prefix = Object.hasOwn(workspaceNames, source) ? workspaceNames[source]! : source;
  return tableName(prefix === '' ? name : `${prefix}_${name}`);
}
