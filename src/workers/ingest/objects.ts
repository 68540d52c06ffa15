import { TaskFailure } from '../../core/failure.js';
import type {
  ListedObject,
  ListedObjects,
  ListObjectsTask,
  ObjectStore,
  StoreProblem,
} from '../../core/object-stores.js';
import { signedHeaders } from '../remote/credentials.js';
import { type Asking, get, type RemoteAnswer } from './http.js';
import { children, parseXml, textOf, type XmlNode } from './xml.js';

/** A page of keys has 1000 of 1024 bytes at most, each escaped. */
const MAX_BYTES = 8 << 20;

/** A page of a bucket (ListObjectsV2 of S3), or what keeps it from being read. */
export async function listObjects(task: ListObjectsTask, asking: Asking): Promise<ListedObjects> {
  const { store, timeoutMs } = task;
  const url = new URL(`${store.endpoint}/${store.bucket}`);
  url.search = new URLSearchParams(queryOf(task)).toString().replaceAll('+', '%20');
  const headers = store.credentials ? signedHeaders(url, store.credentials) : {};
  try {
    return pageOf(await get({ url: url.href, timeoutMs, headers }, asking, MAX_BYTES), store);
  } catch (error) {
    if (!(error instanceof TaskFailure) || error.code === 'cancelled') throw error;
    return { problem: unanswered(error, url) };
  }
}

function queryOf({ prefix, cursor, limit }: ListObjectsTask): Record<string, string> {
  return {
    ...{ 'list-type': '2', 'encoding-type': 'url', 'max-keys': String(limit), prefix },
    ...(cursor === undefined ? {} : { 'continuation-token': cursor }),
  };
}

function pageOf({ status, bytes }: RemoteAnswer, store: ObjectStore): ListedObjects {
  const document = xmlOf(bytes);
  if (status === 200 && document?.name === 'ListBucketResult') return objectsOf(document.root);
  return { problem: refusal(status, document?.name === 'Error' ? document.root : {}, store) };
}

function xmlOf(bytes: Buffer): { name: string; root: XmlNode } | undefined {
  try {
    return parseXml(bytes);
  } catch {
    return undefined;
  }
}

function objectsOf(root: XmlNode): ListedObjects {
  const objects = children(root, 'Contents').flatMap((node): ListedObject[] => {
    const [key, bytes] = [textOf(node, 'Key'), Number(textOf(node, 'Size'))];
    if (key === undefined || !Number.isSafeInteger(bytes)) return [];
    return [{ key: keyOf(key, root), bytes, modified: instantOf(textOf(node, 'LastModified')) }];
  });
  const next = textOf(root, 'IsTruncated') === 'true' ? textOf(root, 'NextContinuationToken') : undefined;
  return { objects, ...(next === undefined ? {} : { next }) };
}

/** Keys are escaped where the answer says so: not every store knows `encoding-type`. */
function keyOf(text: string, root: XmlNode): string {
  if (textOf(root, 'EncodingType') !== 'url') return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function instantOf(text: string | undefined): string | null {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

const CODES: Readonly<Record<string, StoreProblem['reason']>> = {
  InvalidAccessKeyId: 'password',
  SignatureDoesNotMatch: 'password',
  InvalidClientTokenId: 'password',
  AccessDenied: 'rights',
  NoSuchBucket: 'bucket-missing',
  AuthorizationHeaderMalformed: 'region',
  PermanentRedirect: 'region',
  RequestTimeTooSkewed: 'clock',
};

/** What a store says by its code; without one by the status. */
function refusal(
  status: number,
  root: XmlNode,
  { bucket, endpoint, credentials }: ObjectStore,
): StoreProblem {
  const code = textOf(root, 'Code') ?? '';
  const byStatus = { 401: 'password', 403: 'rights', 404: 'bucket-missing' } as const;
  const reason = CODES[code] ?? byStatus[status as 401 | 403 | 404] ?? 'other';
  const said = code === '' ? `${status}` : `${status} ${code.slice(0, 100)}`;
  const user = credentials ? `The key ${credentials.accessKeyId}` : 'Everybody';
  const words: Partial<Record<StoreProblem['reason'], string>> = {
    password: `${endpoint} does not accept the access key with this secret`,
    rights: `${user} may not list the bucket ${bucket}: it needs s3:ListBucket, and s3:GetObject for its objects`,
    'bucket-missing': `There is no bucket ${bucket} at ${endpoint}`,
    region: `The bucket ${bucket} is in another region than ${credentials?.region ?? 'this'}`,
    clock: 'The clock of this server and that of the store are too far apart',
  };
  return {
    reason,
    message: `${words[reason] ?? `${endpoint} does not list the bucket ${bucket}`} (${said}).`,
  };
}

const CAUSES: readonly [RegExp, StoreProblem['reason'], string][] = [
  [/ENOTFOUND|EAI_AGAIN|EAI_FAIL/, 'name-not-found', 'leads to no address (DNS)'],
  [/ECONNREFUSED/, 'refused', 'refuses connections: no server listens there'],
  [/EHOSTUNREACH|ENETUNREACH/, 'unreachable', 'cannot be reached from this server'],
  [/ETIMEDOUT/, 'timeout', 'did not answer in time'],
  [/EPROTO|wrong version number|packet length|SSL routines/, 'tls-unavailable', 'speaks no TLS'],
  [
    /CERT|certificate|SELF_SIGNED|self.signed|altname/i,
    'certificate',
    'has a certificate that is not accepted',
  ],
];

function unanswered(failure: TaskFailure, { host }: URL): StoreProblem {
  const { code, message, cause_ = '' } = failure;
  if (code === 'invalid-input') return { reason: 'host-not-allowed', message };
  if (code === 'deadline-exceeded') return { reason: 'timeout', message };
  if (code === 'source-unreadable')
    return { reason: 'region', message: `${host} leads elsewhere: the bucket is in another region.` };
  const [, reason = 'other' as const, words = 'does not answer'] =
    CAUSES.find(([pattern]) => pattern.test(`${cause_}`)) ?? [];
  return { reason, message: `${host} ${words}.` };
}
