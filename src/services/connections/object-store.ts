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

/** Address and user of a bucket, without the secret. */
export type StoreAddress = Address & Pick<Connection, 'region' | 'provider'>;

/** Whether a connection leads to a bucket, or a container of Azure. */
export const isBucketProvider = (provider: ConnectionProvider): provider is 'AwsS3' | 'AzureBlob' =>
  provider === 'AwsS3' || provider === 'AzureBlob';

/** Query for the objects of a bucket. */
export interface ObjectQuery {
  readonly prefix: string;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/**
 * Whether the connection uses HTTPS. HTTP is used if the mode does not request TLS. Otherwise certificates are
 * checked in every mode.
 */
export const speaksTls = ({ sslMode }: Pick<Address, 'sslMode'>): boolean =>
  sslMode !== 'Disable' && sslMode !== 'Allow';

/** Scheme, host and port. */
export function formatEndpoint({ host, port, sslMode }: Pick<Address, 'host' | 'port' | 'sslMode'>): string {
  const scheme = speaksTls({ sslMode }) ? 'https' : 'http';
  return new URL(`${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`).origin;
}

/** Region of a bucket. The names of S3's hosts contain the region. */
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

/** A container of Azure. Host names of Azure start with the account. Other hosts have it in the path. */
function buildContainer(address: StoreAddress, secret: string): ObjectStore {
  const { username: account, host, databaseName: bucket } = address;
  const endpoint = formatEndpoint(address) + (host.startsWith(`${account}.`) ? '' : `/${account}`);
  return { protocol: 'AzureBlob', endpoint, bucket, credentials: { account, accountKey: secret } };
}

export const isBucket = (name: string): boolean =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes('..');

/** Whether a name is valid for an Azure container: letters, digits and single hyphens. */
export const isContainer = (name: string): boolean =>
  /^[a-z0-9](-?[a-z0-9])*$/.test(name) && name.length >= 3 && name.length <= 63;

/** Health of a bucket, from a page of its objects. */
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

/** Format of an object. Undefined if the name is not that of a geospatial file. */
export const findObjectFormat = (key: string): ObjectFormat | undefined =>
  FORMATS.find(([ending]) => ending.test(key))?.[1];

export interface DataObject extends ListedObject, ObjectFormat {}

/** Returns the objects of a page whose names are names of geospatial files. */
export function dataObjects({ objects }: ObjectPage): DataObject[] {
  return objects.flatMap((object) => {
    const format = findObjectFormat(object.key);
    return format === undefined ? [] : [{ ...object, ...format }];
  });
}
