import type { GeoServerCatalog } from '../../../../core/exchange/geoserver.js';
import type { RemoteRequest } from '../../../../core/exchange/ingest.js';
import type { Pools } from '../../../../core/tasks/tasks.js';
import { buildRemoteRequest } from '../../../connections/remote-credentials.js';
import { parseSourceUrl } from '../../../uploads/remote-file.js';

export interface GeoServerAccess {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly timeoutSeconds: number;
}

/** A request for the root of a REST API, by its own address or that of its GeoServer. Throws 400 naming the member. */
export function restRequest(member: string, address: string, access: GeoServerAccess): RemoteRequest {
  const url = parseSourceUrl(member, address);
  url.search = '';
  url.hash = '';
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/rest') ? path : `${path}/rest`;
  const { username, password, timeoutSeconds } = access;
  return buildRemoteRequest(url, { mode: 'basic', username, password }, timeoutSeconds * 1000);
}

export function requestGeoServer(
  request: RemoteRequest,
  withStyles: boolean,
  pools: Pick<Pools, 'run'>,
  signal: AbortSignal,
): Promise<GeoServerCatalog> {
  return pools.run('ingest.geoserver', { ...request, withStyles }, { signal });
}
