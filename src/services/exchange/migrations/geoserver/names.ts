import type { GeoServerLayer } from '../../../../core/exchange/geoserver.js';
import { tableName } from '../../../catalog/table-name.js';
import type { MigrationRequest } from './request.js';

/** `topp:tasmania roads` as `topp_tasmania_roads`. */
export function formatTargetName(
  { workspace, name }: Pick<GeoServerLayer, 'workspace' | 'name'>,
  request: MigrationRequest,
): string {
  const { workspaceNames, defaultWorkspace } = request;
  const source = workspace ?? defaultWorkspace;
  const prefix = Object.hasOwn(workspaceNames, source) ? workspaceNames[source]! : source;
  return tableName(prefix === '' ? name : `${prefix}_${name}`);
}

/** A unique name. Names that differ in the source can be equal here, and the later ones get a number. */
export function createUniqueName(name: string, names: Set<string>): string {
  for (let n = 1; ; n++) {
    const ending = n === 1 ? '' : `_${n}`;
    const free = name.slice(0, 60 - ending.length) + ending;
    if (names.has(free)) continue;
    names.add(free);
    return free;
  }
}
