import { TaskFailure } from '../../../core/errors/failure.js';
import type { RemoteProblem, RemoteReason } from '../../../core/errors/remote-problems.js';
import type { Download } from '../../../core/exchange/ingest.js';
import {
  type ListedObject,
  type ListedObjects,
  type ListObjectsTask,
  type ObjectStore,
  type ObjectTask,
  objectAddress,
} from '../../../core/sources/object-stores.js';
import { findXmlText, listXmlChildren, parseXmlDocument, type XmlNode } from '../../files/xml.js';
import { storeHeaders } from '../../storage/remote/credentials.js';
import { AZURE_CODES, azurePage, azureQuery, parseHttpDate } from './azure-objects.js';
import { download, get, type RemoteAccess, type RemoteAnswer } from './http.js';
import { unanswered } from './remote-problem.js';

/** Maximum bytes of a page of keys: it has at most 1000 keys of 1024 bytes, each escaped. */
const MAX_BYTES = 8 << 20;

/** Returns a page of a bucket (ListObjectsV2 of S3, List Blobs of Azure), or the reason why it cannot be read. */
export async function listObjects(task: ListObjectsTask, asking: RemoteAccess): Promise<ListedObjects> {
  const { store, timeoutMs } = task;
  const url = new URL(`${store.endpoint}/${store.bucket}`);
  url.search = new URLSearchParams(store.protocol === 'AzureBlob' ? azureQuery(task) : buildQuery(task))
    .toString()
    .replaceAll('+', '%20');
  const headers = store.credentials ? storeHeaders(url, store.credentials) : {};
  try {
    return buildPage(await get({ url: url.href, timeoutMs, headers }, asking, MAX_BYTES), store);
  } catch (error) {
    if (!(error instanceof TaskFailure) || error.code === 'cancelled') throw error;
    return { problem: createProblem(error, url) };
  }
}

/** Stores lead from one region to another. */
function createProblem(failure: TaskFailure, url: URL): RemoteProblem {
  if (failure.code !== 'source-unreadable') return unanswered(failure, url);
  return { reason: 'region', message: `${url.host} leads elsewhere: the bucket is in another region.` };
}

/** Writes an object of a bucket into a new file, which exists only when it is complete. Fails like `download`. */
export function downloadObject({ store, key, ...task }: ObjectTask, asking: RemoteAccess): Promise<Download> {
  const url = new URL(objectAddress(store, key));
  const headers = store.credentials ? storeHeaders(url, store.credentials) : {};
  return download({ ...task, url: url.href, headers }, asking);
}

function buildQuery({ prefix, cursor, limit }: ListObjectsTask): Record<string, string> {
  return {
    'list-type': '2',
    'encoding-type': 'url',
    'max-keys': String(limit),
    prefix,
    ...(cursor === undefined ? {} : { 'continuation-token': cursor }),
  };
}

function buildPage({ status, bytes }: RemoteAnswer, store: ObjectStore): ListedObjects {
  const document = parseXml(bytes);
  if (status === 200 && document?.name === 'ListBucketResult') return parseObjects(document.root);
  if (status === 200 && document?.name === 'EnumerationResults') return azurePage(document.root);
  return { problem: refusal(status, document?.name === 'Error' ? document.root : {}, store) };
}

function parseXml(bytes: Buffer): { name: string; root: XmlNode } | undefined {
  try {
    return parseXmlDocument(bytes);
  } catch {
    return undefined;
  }
}

function parseObjects(root: XmlNode): ListedObjects {
  const objects = listXmlChildren(root, 'Contents').flatMap((node): ListedObject[] => {
    const [key, bytes] = [findXmlText(node, 'Key'), Number(findXmlText(node, 'Size'))];
    if (key === undefined || !Number.isSafeInteger(bytes)) return [];
    return [{ key: readKey(key, root), bytes, modified: parseHttpDate(findXmlText(node, 'LastModified')) }];
  });
  const next =
    findXmlText(root, 'IsTruncated') === 'true' ? findXmlText(root, 'NextContinuationToken') : undefined;
  return { objects, ...(next === undefined ? {} : { next }) };
}

/** Returns a key. Keys are escaped if the response says so, because not every store supports `encoding-type`. */
function readKey(text: string, root: XmlNode): string {
  if (findXmlText(root, 'EncodingType') !== 'url') return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const CODES: Readonly<Record<string, RemoteReason>> = {
  ...AZURE_CODES,
  InvalidAccessKeyId: 'password',
  SignatureDoesNotMatch: 'password',
  InvalidClientTokenId: 'password',
  AccessDenied: 'rights',
  NoSuchBucket: 'bucket-missing',
  AuthorizationHeaderMalformed: 'region',
  PermanentRedirect: 'region',
  RequestTimeTooSkewed: 'clock',
};

/** Returns the failure for an error code of a store, or for the status if there is no code. */
function refusal(
  status: number,
  root: XmlNode,
  { bucket, endpoint, credentials }: ObjectStore,
): RemoteProblem {
  const code = findXmlText(root, 'Code') ?? '';
  const byStatus = { 401: 'password', 403: 'rights', 404: 'bucket-missing' } as const;
  const reason = CODES[code] ?? byStatus[status as 401 | 403 | 404] ?? 'other';
  const said = code === '' ? `${status}` : `${status} ${code.slice(0, 100)}`;
  const isAzure = credentials !== undefined && 'account' in credentials;
  const user = isAzure
    ? `The account ${credentials.account}`
    : credentials
      ? `The key ${credentials.accessKeyId}`
      : 'Everybody';
  const rights = isAzure
    ? 'the key must be right, and networks may be barred'
    : 'it needs s3:ListBucket, and s3:GetObject for its objects';
  const region = credentials && !isAzure ? credentials.region : 'this';
  const words: Partial<Record<RemoteReason, string>> = {
    password: `${endpoint} does not accept the access key with this secret`,
    rights: `${user} may not list the bucket ${bucket}: ${rights}`,
    'bucket-missing': `There is no bucket ${bucket} at ${endpoint}`,
    region: `The bucket ${bucket} is in another region than ${region}`,
    clock: 'The clock of this server and that of the store are too far apart',
  };
  return {
    reason,
    message: `${words[reason] ?? `${endpoint} does not list the bucket ${bucket}`} (${said}).`,
  };
}
