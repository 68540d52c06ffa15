import { isIP } from 'node:net';
import type {
  ListedObject,
  ListedObjects,
  ObjectPage,
  ObjectStore,
  S3Credentials,
} from '../../core/sources/object-stores.js';
import type { Address, Connection, ConnectionProvider } from './connection.js';
import type { ConnectionHealth } from './probe.js';

/** Where a bucket is and who reads it, but for the secret. */
export type StoreAddress = Address & Pick<Connection, 'region' | 'provider'>;

/** Whether a connection leads to a bucket, or a container of Azure. */
export const isBucketProvider = (provider: ConnectionProvider): provider is 'AwsS3' | 'AzureBlob' =>
  provider === 'AwsS3' || provider === 'AzureBlob';

/** What is asked for of a bucket. */
export interface ObjectQuery {
  readonly prefix: string;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** HTTP where TLS is not asked for at all; certificates are checked else, whatever the mode. */
export const speaksTls = ({ sslMode }: Pick<Address, 'sslMode'>): boolean =>
  sslMode !== 'Disable' && sslMode !== 'Allow';

/** Scheme, host and port. */
export function formatEndpoint({ host, port, sslMode }: Pick<Address, 'host' | 'port' | 'sslMode'>): string {
  const scheme = speaksTls({ sslMode }) ? 'https' : 'http';
  return new URL(`${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`).origin;
}

/** The names of S3's own hosts hold the region. */
function getStoreRegion({ host, region }: Pick<StoreAddress, 'host' | 'region'>): string {
  return region ?? /(?:^|\.)s3[.-]([a-z0-9-]+)\.amazonaws\.com$/.exec(host)?.[1] ?? 'us-east-1';
}

export function createObjectStore(address: StoreAddress, secret: string): ObjectStore {
  if (address.provider === 'AzureBlob') return buildContainer(address, secret);
  const credentials: S3Credentials = {
    accessKeyId: address.username,
    secretAccessKey: secret,
    region: getStoreRegion(address),
  };
  return { protocol: 'S3', endpoint: formatEndpoint(address), bucket: address.databaseName, credentials };
}

/** Hosts of Azure begin with the account; others have it in the path. */
function buildContainer(address: StoreAddress, secret: string): ObjectStore {
  const { username: account, host, databaseName: bucket } = address;
  const endpoint = formatEndpoint(address) + (host.startsWith(`${account}.`) ? '' : `/${account}`);
  return { protocol: 'AzureBlob', endpoint, bucket, credentials: { account, accountKey: secret } };
}

export const isBucket = (name: string): boolean =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes('..');

/** Of Azure: letters, digits and single hyphens. */
export const isContainer = (name: string): boolean =>
  /^[a-z0-9](-?[a-z0-9])*$/.test(name) && name.length >= 3 && name.length <= 63;

/** What a page says of the health of its bucket. */
export function describeBucketHealth(listed: ListedObjects, bucket: string): ConnectionHealth {
  if ('problem' in listed) return { isHealthy: false, ...listed.problem };
  return { isHealthy: true, reason: 'ok', message: `The bucket ${bucket} can be listed.` };
}

/** A format by the ending of its keys. */
export interface ObjectFormat {
  readonly format: string;
  /** Whether it can be registered as a cloud raster. */
  readonly isRaster?: true;
  /** Whether it can be published as a copy. */
  readonly isCopied?: true;
}

const FORMATS: readonly [RegExp, ObjectFormat][] = [
  [/\.tiff?$/i, { format: 'GeoTIFF', isRaster: true }],
  [/\.fgb$/i, { format: 'FlatGeobuf', isCopied: true }],
  [/\.(geo)?parquet$/i, { format: 'GeoParquet', isCopied: true }],
  [/\.gpkg$/i, { format: 'GeoPackage', isCopied: true }],
  [/\.(geojson|json)$/i, { format: 'GeoJSON', isCopied: true }],
  [/\.pmtiles$/i, { format: 'PMTiles' }],
];

/** Undefined for what holds no geodata by its name. */
export const findObjectFormat = (key: string): ObjectFormat | undefined =>
  FORMATS.find(([ending]) => ending.test(key))?.[1];

export interface DataObject extends ListedObject, ObjectFormat {}

/** Objects of a page that hold geodata by their names. */
export function dataObjects({ objects }: ObjectPage): DataObject[] {
  return objects.flatMap((object) => {
    const format = findObjectFormat(object.key);
    return format === undefined ? [] : [{ ...object, ...format }];
  });
}
