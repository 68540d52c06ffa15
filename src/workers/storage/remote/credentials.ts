/** Credentials of object stores, from the standard environment variables. They are sent only to their own store. */

import { createHash, createHmac } from 'node:crypto';
import type {
  AzureCredentials,
  S3Credentials,
  StoreCredentials,
} from '../../../core/sources/object-stores.js';

const EMPTY_SHA256 = createHash('sha256').digest('hex');
const AZURE_VERSION = '2021-08-06';

/**
 * Returns the headers for a GET of a range, whose other headers are not signed. S3 gets a signature (AWS Signature
 * Version 4), and Azure blobs get a signature with the account's key. Empty for other hosts, or without credentials.
 */
export function credentialsFor(
  url: URL,
  range: string,
  env: NodeJS.ProcessEnv,
  now = new Date(),
): Record<string, string> {
  if (isS3(url, env)) return signedHeaders(url, ofEnvironment(env), now);
  if (isAzure(url, env) && url.search === '') {
    const credentials = { account: env.AZURE_STORAGE_ACCOUNT!, accountKey: env.AZURE_STORAGE_KEY! };
    return azureHeaders(url, range, credentials, now);
  }
  return {};
}

/** Returns the headers for a GET to a store. `range` is empty for complete objects. */
export function storeHeaders(url: URL, credentials: StoreCredentials, range = ''): Record<string, string> {
  return 'account' in credentials ? azureHeaders(url, range, credentials) : signedHeaders(url, credentials);
}

function isS3(url: URL, env: NodeJS.ProcessEnv): boolean {
  if (!env.AWS_ACCESS_KEY_ID || !env.AWS_SECRET_ACCESS_KEY) return false;
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL;
  if (endpoint) return URL.canParse(endpoint) && new URL(endpoint).origin === url.origin;
  return url.protocol === 'https:' && /(^|\.)s3[.-]([\w-]+\.)?amazonaws\.com$/.test(url.hostname);
}

function isAzure(url: URL, env: NodeJS.ProcessEnv): boolean {
  const account = env.AZURE_STORAGE_ACCOUNT;
  return (
    Boolean(account && env.AZURE_STORAGE_KEY) && url.origin === `https://${account}.blob.core.windows.net`
  );
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

interface SigningKey extends S3Credentials {
  readonly sessionToken?: string | undefined;
}

function ofEnvironment(env: NodeJS.ProcessEnv): SigningKey {
  return {
    accessKeyId: env.AWS_ACCESS_KEY_ID!,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY!,
    region: env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1',
    sessionToken: env.AWS_SESSION_TOKEN,
  };
}

/** Returns the headers that sign a GET (AWS Signature Version 4). Other headers are not signed. */
function signedHeaders(
  url: URL,
  { accessKeyId, secretAccessKey, region, sessionToken }: SigningKey,
  now = new Date(),
): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    host: url.host,
    'x-amz-content-sha256': EMPTY_SHA256,
    'x-amz-date': time,
    ...(sessionToken ? { 'x-amz-security-token': sessionToken } : {}),
  };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort();
  const canonical = ['GET', buildPath(url), query.join('&'), lines.join(''), names, EMPTY_SHA256].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [region, 's3', 'aws4_request'].reduce<Buffer>(hmac, hmac(`AWS4${secretAccessKey}`, day));
  const signature = createHmac('sha256', key).update(text).digest('hex');
  const { host: _, ...sent } = headers;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const buildPath = ({ pathname }: URL) =>
  pathname
    .split('/')
    .map((part) => encoded(decodeURIComponent(part)))
    .join('/');

/**
 * Returns the headers that sign a GET (Shared Key). If the path contains the account, the signed text contains it
 * twice.
 */
function azureHeaders(
  url: URL,
  range: string,
  { account, accountKey }: AzureCredentials,
  now = new Date(),
): Record<string, string> {
  const headers = { 'x-ms-date': now.toUTCString(), 'x-ms-version': AZURE_VERSION };
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const parameters = [...url.searchParams].map(([name, value]) => `\n${name.toLowerCase()}:${value}`).sort();
  // Eleven standard headers, of which only Range is sent.
  const text = `GET${'\n'.repeat(11)}${range}\n${lines.join('')}/${account}${url.pathname}${parameters.join('')}`;
  const key = Buffer.from(accountKey, 'base64');
  const signature = createHmac('sha256', key).update(text, 'utf8').digest('base64');
  return { ...headers, authorization: `SharedKey ${account}:${signature}` };
}
