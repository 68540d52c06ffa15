import { isIP } from 'node:net';
import type { Config } from '../../core/config/config.js';
import { SOURCE_KINDS } from '../../core/exchange/ingest.js';
import type { StoredDocument } from '../../stores/state/documents.js';

/** How libpq calls them, by the names of the wire. */
export const SSL_MODES = {
  Disable: 'disable',
  Allow: 'allow',
  Prefer: 'prefer',
  Require: 'require',
  VerifyCA: 'verify-ca',
  VerifyFull: 'verify-full',
} as const;
export type SslMode = keyof typeof SSL_MODES;

/** Where a database is and who reads it: what is needed to connect, but for the password. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly databaseName: string;
  readonly username: string;
  readonly sslMode: SslMode;
}

/** What a connection leads to. Of these the configuration alone has files and folders, and single objects and URLs. */
export const CONNECTION_PROVIDERS = [
  ...(['PostGIS', 'Local', 'Web', 'AwsS3', 'AzureBlob'] as const),
  ...SOURCE_KINDS,
] as const;
export type ConnectionProvider = (typeof CONNECTION_PROVIDERS)[number];

/** Kind of the documents that connections are kept in. */
export const CONNECTION_KIND = 'connection';
export type StoredConnection = StoredDocument<Connection>;

/** What operators connected, as it is kept. */
export interface Connection extends Address {
  readonly name: string;
  /** A PostGIS database when absent. */
  readonly provider?: ConnectionProvider;
  /** Of a bucket, whose name stands as that of the database, and whose access key as that of the user. */
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

/** What operators connect; the others are of the configuration alone. */
export const OWN_PROVIDERS: readonly ConnectionProvider[] = [
  'PostGIS',
  'AwsS3',
  'AzureBlob',
  ...SOURCE_KINDS,
];

export const requiresSsl = (mode: SslMode): boolean => /^(Require|Verify)/.test(mode);

/** A name or an address: no socket, no list, nothing that has no place in a URL. */
export function isHost(host: string): boolean {
  if (!URL.canParse(`http://${isIP(host) === 6 ? `[${host}]` : host}`)) return false;
  return (
    isIP(host) !== 0 ||
    /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$/.test(
      host,
    )
  );
}

/** The URL that libpq connects by. Without a password none is looked for: that of the server's owner is not for others. */
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
