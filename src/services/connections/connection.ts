import { isIP } from 'node:net';
import type { Config } from '../../core/config/config.js';
import { SOURCE_KINDS } from '../../core/exchange/ingest.js';
import type { StoredDocument } from '../../stores/state/documents.js';

/** SSL modes in the notation of libpq, by their names in the API. */
export const SSL_MODES = {
  Disable: 'disable',
  Allow: 'allow',
  Prefer: 'prefer',
  Require: 'require',
  VerifyCA: 'verify-ca',
  VerifyFull: 'verify-full',
} as const;
export type SslMode = keyof typeof SSL_MODES;

/** Address and user of a database: everything needed to connect, except the password. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly databaseName: string;
  readonly username: string;
  readonly sslMode: SslMode;
}

/** Kinds of connection targets. Only the configuration can have files and folders, and single objects and URLs. */
export const CONNECTION_PROVIDERS = [
  ...(['PostGIS', 'Local', 'Web', 'AwsS3', 'AzureBlob'] as const),
  ...SOURCE_KINDS,
] as const;
export type ConnectionProvider = (typeof CONNECTION_PROVIDERS)[number];

/** Kind of the documents that connections are kept in. */
export const CONNECTION_KIND = 'connection';
export type StoredConnection = StoredDocument<Connection>;

/** Stored record of a connection by operators. */
export interface Connection extends Address {
  readonly name: string;
  /** Default: a PostGIS database. */
  readonly provider?: ConnectionProvider;
  /** Region of a bucket. The bucket name is in `databaseName`, its access key in `username`. */
  readonly region?: string;
  readonly description: string | null;
  /** Sealed; null where there is none, or another place has it. */
  readonly password: string | null;
  /** `env:NAME` or `file:/path`: where the password is. */
  readonly secretReference: string | null;
  readonly secretType: string | null;
  readonly isActive: boolean;
}

export const getConnectionProvider = ({
  provider = 'PostGIS',
}: Pick<Connection, 'provider'>): ConnectionProvider => provider;

/** Kinds of targets that operators can connect. Only the configuration can have the rest. */
export const OWN_PROVIDERS: readonly ConnectionProvider[] = [
  'PostGIS',
  'AwsS3',
  'AzureBlob',
  ...SOURCE_KINDS,
];

export const requiresSsl = (mode: SslMode): boolean => /^(Require|Verify)/.test(mode);

/**
 * Whether the text is a host name or an IP address. Sockets, lists and characters that URLs cannot contain are
 * refused.
 */
export function isHost(host: string): boolean {
  if (!URL.canParse(`http://${isIP(host) === 6 ? `[${host}]` : host}`)) return false;
  return (
    isIP(host) !== 0 ||
    /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$/.test(
      host,
    )
  );
}

/**
 * The URL for libpq. Without a password, libpq must not search for one, because the password of the server's owner is
 * not for operators.
 */
export function connectionUrl(
  { host, port, databaseName, username, sslMode }: Address,
  password: string,
  { certificates }: Pick<Config['connections'], 'certificates'>,
): string {
  const place = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const user = encodeURIComponent(username) + (password === '' ? '' : `:${encodeURIComponent(password)}`);
  const query = [`sslmode=${SSL_MODES[sslMode]}`];
  if (sslMode.startsWith('Verify')) query.push(`sslrootcert=${encodeURIComponent(certificates)}`);
  if (password === '') query.push('password=', 'passfile=/nonexistent');
  return `postgresql://${user}@${place}/${encodeURIComponent(databaseName)}?${query.join('&')}`;
}
