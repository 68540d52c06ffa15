import Type, { type Static } from 'typebox';
import { parseKeyVersion } from '../../../services/access/keys/secret-keys.js';
import {
  CONNECTION_PROVIDERS,
  getConnectionProvider,
  requiresSsl,
  SSL_MODES,
  type SslMode,
  type StoredConnection,
} from '../../../services/connections/connection.js';
import type { Connections } from '../../../services/connections/connections.js';
import type { ConnectionCheck } from '../../../services/connections/trials.js';
import { tagged } from '../../admin/entity-tags.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { OwnerSchema } from '../../admin/owner.js';

/** Connections as the management API shows them. */

const Mode = Type.Enum(Object.keys(SSL_MODES) as SslMode[]);
const I = Type.Integer();

const SUMMARY = {
  connectionId: Type.String(),
  name: Type.String(),
  description: OptionalStringSchema,
  host: Type.String(),
  port: I,
  databaseName: Type.String(),
  username: Type.String(),
  sslRequired: Type.Boolean(),
  sslMode: Mode,
  storageType: Type.Enum(['managed', 'external']),
  isActive: Type.Boolean(),
  healthStatus: Type.Enum(['unknown', 'healthy', 'unhealthy']),
  lastHealthCheck: OptionalTimestampSchema,
  createdAt: TimestampSchema,
  createdBy: OptionalStringSchema,
  provider: Type.Enum([...CONNECTION_PROVIDERS]),
  owner: OwnerSchema,
};
export const SummarySchema = Type.Object(SUMMARY);
export const DetailSchema = Type.Object({
  ...SUMMARY,
  credentialReference: OptionalStringSchema,
  encryptionVersion: Type.Union([I, Type.Null()]),
  updatedAt: TimestampSchema,
});
export const TestResultSchema = Type.Object({
  connectionId: OptionalStringSchema,
  connectionName: Type.String(),
  isHealthy: Type.Boolean(),
  testedAt: TimestampSchema,
  message: Type.String(),
  reason: Type.String({ description: 'The finding as a word for programs.' }),
});

export function summary(
  stored: StoredConnection,
  connections: Connections,
  check?: ConnectionCheck,
): Static<typeof SummarySchema> {
  const { id, body, createdAt, createdBy } = stored;
  const { name, description, host, port, databaseName, username, sslMode, isActive } = body;
  const view: Static<typeof SummarySchema> = {
    connectionId: id,
    name,
    description,
    host,
    port,
    databaseName,
    username,
    sslRequired: requiresSsl(sslMode),
    sslMode,
    storageType: chooseStorageType(body),
    isActive,
    healthStatus: check === undefined ? 'unknown' : check.isHealthy ? 'healthy' : 'unhealthy',
    lastHealthCheck: optionalTimestamp(check?.testedAt ?? null),
    createdAt: timestamp(createdAt),
    createdBy,
    provider: getConnectionProvider(body),
    owner: connections.isSource(stored) ? 'configuration' : 'api',
  };
  return tagged(view, stored.etag);
}

/** The server itself keeps the files of a folder; databases, stores and services are kept elsewhere. */
const chooseStorageType = (body: StoredConnection['body']): 'managed' | 'external' =>
  getConnectionProvider(body) === 'Local' ? 'managed' : 'external';

export function detail(
  stored: StoredConnection,
  connections: Connections,
  check?: ConnectionCheck,
): Static<typeof DetailSchema> {
  const { password, secretReference } = stored.body;
  const view: Static<typeof DetailSchema> = {
    ...summary(stored, connections, check),
    credentialReference: secretReference,
    encryptionVersion: password === null ? null : parseKeyVersion(password),
    updatedAt: timestamp(stored.updatedAt),
  };
  return tagged(view, stored.etag);
}

export function testResult(
  id: string | null,
  name: string,
  check: ConnectionCheck,
): Static<typeof TestResultSchema> {
  const { isHealthy, testedAt, message, reason } = check;
  return {
    connectionId: id,
    connectionName: name,
    isHealthy,
    testedAt: timestamp(testedAt),
    message,
    reason,
  };
}
