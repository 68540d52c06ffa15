import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isBelow } from '../../core/files/folders.js';
import { isDatabase, withoutPassword } from '../../core/sources/database-url.js';
import { isPath, isStacApi } from '../../core/sources/sources.js';
import { plainText } from '../../core/values/percent.js';
import { resolveSourceUrl } from '../storage/places.js';
import {
  type Connection,
  type ConnectionProvider,
  SSL_MODES,
  type SslMode,
  type StoredConnection,
} from './connection.js';

/** A source of the server - a database, a file or folder, a URL - as a connection. */
export interface SourceConnection {
  readonly stored: StoredConnection;
  /** Location to read: a URL with its password and query, or an absolute path. */
  readonly place: string;
}

/** Author of these connections. */
const CONFIGURATION = 'configuration';

/**
 * Sources of the configuration or the command line, by id. The id is derived from the location without secrets, so it
 * is the same in all processes and after each start.
 */
export function sourceConnections(sources: readonly string[], at: number): Map<string, SourceConnection> {
  const connections = sources.map((source) => buildConnection(source, at));
  return new Map(connections.map((one) => [one.stored.id, one]));
}

function buildConnection(source: string, at: number): SourceConnection {
  const place = isPath(source) ? resolve(source) : source;
  const shown = publicPlace(place);
  const id = getUuid(shown);
  return {
    place,
    stored: {
      id,
      version: 1,
      etag: id,
      createdAt: at,
      createdBy: CONFIGURATION,
      updatedAt: at,
      updatedBy: CONFIGURATION,
      body: {
        ...(isDatabase(place) ? databaseAt(shown) : isPath(place) ? filesAt(place) : objectAt(shown)),
        description: `Source of the configuration: ${shown}`,
        isActive: true,
        password: null,
        secretReference: null,
        secretType: null,
      },
    },
  };
}

/** Location without secrets. The query of a URL is removed because it can contain a signature. */
export function publicPlace(place: string): string {
  if (isPath(place)) return place;
  return isDatabase(place) ? withoutPassword(place) : plainUrl(place);
}

/** URL without credentials. For a STAC API, the query is kept because it selects the data. */
const plainUrl = (url: string) =>
  url.replace(isStacApi(url) ? /#.*$/s : /[?#].*$/s, '').replace(/^([\w+]+:\/\/)[^/?]*@/, '$1');

type SourceAddress = Pick<
  Connection,
  'name' | 'provider' | 'host' | 'port' | 'databaseName' | 'username' | 'sslMode'
>;

function databaseAt(place: string): SourceAddress {
  const address = parseAddress(place);
  return { name: `${address.databaseName}@${address.host}`, provider: 'PostGIS', ...address };
}

/**
 * The address in a database URL. For syntax that only libpq supports (several hosts, sockets), the host is shown
 * unchanged.
 */
function parseAddress(place: string) {
  const [, user = '', host = '', port, name = '', query = ''] =
    /^\w+:\/\/(?:([^@/?]*)@)?(\[[^\]]*\]|[^:/?]*)(?::([^/?]*))?(?:\/([^?]*))?(?:\?(.*))?$/s.exec(place) ?? [];
  const parameters = new URLSearchParams(query);
  const mode = parameters.get('sslmode') ?? 'prefer';
  const username = plainText(user) || parameters.get('user') || '';
  return {
    host: plainText(host) || parameters.get('host') || 'localhost',
    port: Number(port ?? parameters.get('port') ?? 5432) || 5432,
    databaseName: plainText(name) || parameters.get('dbname') || username,
    username,
    sslMode: (Object.keys(SSL_MODES) as SslMode[]).find((one) => SSL_MODES[one] === mode) ?? 'Prefer',
  };
}

/** Address of files. They have no host, and their path is in `databaseName`. */
function filesAt(path: string): SourceAddress {
  return {
    name: path,
    provider: 'Local',
    host: '',
    port: 0,
    databaseName: path,
    username: '',
    sslMode: 'Disable',
  };
}

const STORES: Readonly<Record<string, ConnectionProvider>> = { s3: 'AwsS3', az: 'AzureBlob' };

/** Address of an object. If it is in an object store, the bucket is in `host`. */
function objectAt(url: string): SourceAddress {
  const [, scheme = '', host = '', port, path = ''] =
    /^([\w+]+):\/\/(\[[^\]]*\]|[^:/]*)(?::(\d+))?(.*)$/s.exec(url) ?? [];
  const isPlain = /^(stac\+)?http$/i.test(scheme);
  return {
    name: url,
    provider: STORES[scheme.toLowerCase()] ?? 'Web',
    host,
    port: Number(port ?? (isPlain ? 80 : 443)),
    databaseName: path.replace(/^\//, ''),
    username: '',
    sslMode: isPlain ? 'Disable' : 'VerifyFull',
  };
}

/** Finds the source of data by the file, URL or database in the collection. */
export async function sourceFinder(
  sources: Iterable<SourceConnection>,
): Promise<(file: string) => SourceConnection | undefined> {
  const roots = await Promise.all(
    [...sources].map(async (source) => ({ source, root: await loadRoot(source) })),
  );
  // If folders are nested, the innermost one matches.
  const inner = roots.toSorted((a, b) => b.root.length - a.root.length);
  return (file) => {
    const place = isPath(file) ? file : publicPlace(file);
    return inner.find(({ root }) => place === root || (isPath(root) && isBelow(place, root)))?.source;
  };
}

async function loadRoot({ place }: SourceConnection): Promise<string> {
  if (isPath(place)) return realpath(place).catch(() => place);
  return publicPlace(isDatabase(place) ? place : buildUrl(place));
}

/** URL of a source. A source without a valid URL cannot be read. */
function buildUrl(source: string): string {
  try {
    return resolveSourceUrl(source);
  } catch {
    return source;
  }
}

/** A UUID (version 8, RFC 9562, 5.8) of a text. */
function getUuid(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
