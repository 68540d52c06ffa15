import { isIP } from 'node:net';
import type { ListedObjects, ObjectPage, ObjectStore, StoreCredentials } from '../../core/object-stores.js';
import type { Address, Connection } from './connection.js';
import type { ConnectionHealth } from './probe.js';

/** Where a bucket is and who reads it, but for the secret. */
export type StoreAddress = Address & Pick<Connection, 'region'>;

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
export function endpointOf({ host, port, sslMode }: Pick<Address, 'host' | 'port' | 'sslMode'>): string {
  const scheme = speaksTls({ sslMode }) ? 'https' : 'http';
  return new URL(`${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`).origin;
}

/** The names of S3's own hosts hold the region. */
export function regionOf({ host, region }: Pick<StoreAddress, 'host' | 'region'>): string {
  return region ?? /(?:^|\.)s3[.-]([a-z0-9-]+)\.amazonaws\.com$/.exec(host)?.[1] ?? 'us-east-1';
}

export function objectStoreOf(address: StoreAddress, secret: string): ObjectStore {
  const credentials: StoreCredentials = {
    accessKeyId: address.username,
    secretAccessKey: secret,
    region: regionOf(address),
  };
  return { endpoint: endpointOf(address), bucket: address.databaseName, credentials };
}

export const isBucket = (name: string): boolean =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes('..');

/** What a page says of the health of its bucket. */
export function healthOf(listed: ListedObjects, bucket: string): ConnectionHealth {
  if ('problem' in listed) return { isHealthy: false, ...listed.problem };
  return { isHealthy: true, reason: 'ok', message: `The bucket ${bucket} can be listed.` };
}

/** Formats by the endings of keys: what is read by ranges, and can be registered as a raster. */
const FORMATS: readonly [RegExp, string, boolean][] = [
  [/\.tiff?$/i, 'GeoTIFF', true],
  [/\.fgb$/i, 'FlatGeobuf', false],
  [/\.(geo)?parquet$/i, 'GeoParquet', false],
  [/\.gpkg$/i, 'GeoPackage', false],
  [/\.(geojson|json)$/i, 'GeoJSON', false],
  [/\.pmtiles$/i, 'PMTiles', false],
];

export interface DataObject {
  readonly key: string;
  readonly bytes: number;
  readonly modified: string | null;
  readonly format: string;
  /** Whether it can be registered as a cloud raster. */
  readonly isRaster: boolean;
}

/** Objects of a page that hold geodata by their names. */
export function dataObjects({ objects }: ObjectPage): DataObject[] {
  return objects.flatMap((object) => {
    const [, format, isRaster] = FORMATS.find(([ending]) => ending.test(object.key)) ?? [];
    return format === undefined ? [] : [{ ...object, format, isRaster: isRaster! }];
  });
}
