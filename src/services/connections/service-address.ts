import { type RemoteRequest, SOURCE_KINDS, type SourceKind } from '../../core/exchange/ingest.js';
import type { Address, ConnectionProvider } from './connection.js';
import { formatEndpoint } from './object-store.js';
import { buildRemoteRequest, type RemoteCredentials } from './remote-credentials.js';

/** Services of other servers: their path stands where databases have a name. */

/** Address of a connection to a service. */
export interface ServiceAddress extends Address {
  readonly provider: SourceKind;
}

export const isServiceKind = (provider: ConnectionProvider): provider is SourceKind =>
  (SOURCE_KINDS as readonly string[]).includes(provider);

/** URL of a service. Throws for a path that leads to another server. */
export function serviceAddress(address: Pick<Address, 'host' | 'port' | 'sslMode' | 'databaseName'>): URL {
  const endpoint = formatEndpoint(address);
  const url = new URL(`${endpoint}/${address.databaseName.replace(/^\/+/, '')}`);
  if (url.origin !== endpoint) throw new TypeError('The path leads to another server.');
  return url;
}

/** Problem of the path of a service. Undefined if it is valid. */
export function pathProblem(path: string): string | undefined {
  if (/[\s#\\]|[^\x21-\x7e]/.test(path)) return 'must be a path with its query, escaped as in a URL';
  return undefined;
}

/** A secret without a user is a token. */
export function credentialsWith(
  { provider, username }: Pick<ServiceAddress, 'provider' | 'username'>,
  secret: string,
): RemoteCredentials {
  if (username !== '') return { mode: 'basic', username, password: secret };
  if (secret === '') return {};
  return { mode: provider === 'arcgis-geoservices-rest' ? 'arcgis-token' : 'token', token: secret };
}

/** A request to a service with its credentials. */
export const serviceRequest = (address: ServiceAddress, secret: string, timeoutMs: number): RemoteRequest =>
  buildRemoteRequest(serviceAddress(address), credentialsWith(address, secret), timeoutMs);
