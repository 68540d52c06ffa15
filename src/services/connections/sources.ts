import { createHash } from 'node:crypto';
import { isDatabase, withoutPassword } from '../../core/database-url.js';
import { plainText } from '../../core/percent.js';
import { SSL_MODES, type SslMode } from './connection.js';
import type { StoredConnection } from './connections.js';

/** A database among the sources of the server, as a connection. */
export interface SourceConnection {
  readonly stored: StoredConnection;
  /** As the configuration has it, with its password. */
  readonly url: string;
}

/** Who is named as its author. */
const CONFIGURATION = 'configuration';

/**
 * Databases that the configuration or the command line publishes, by id. The id is made of the URL without its password, so
 * that it is the same in all processes and after each start.
 */
export function sourceConnections(sources: readonly string[], at: number): Map<string, SourceConnection> {
  const connections = sources.filter(isDatabase).map((url) => ({ stored: connectionOf(url, at), url }));
  return new Map(connections.map((one) => [one.stored.id, one]));
}

function connectionOf(url: string, at: number): StoredConnection {
  const place = withoutPassword(url);
  const id = uuidOf(place);
  const { host, port, databaseName, username, sslMode } = addressOf(place);
  return {
    ...{ id, version: 1, etag: id, createdAt: at, createdBy: CONFIGURATION, updatedAt: at },
    updatedBy: CONFIGURATION,
    body: {
      ...{ name: `${databaseName}@${host}`, description: `Source of the configuration: ${place}` },
      ...{ host, port, databaseName, username, sslMode, isActive: true },
      ...{ password: null, secretReference: null, secretType: null },
    },
  };
}

/** Of what libpq reads and this does not (several hosts, sockets), the host is told as it stands there. */
function addressOf(place: string) {
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

/** A UUID (version 8, RFC 9562, 5.8) of a text. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
