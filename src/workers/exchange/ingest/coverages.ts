import { open, readFile, rm, stat } from 'node:fs/promises';
import type {
  CoveragePlan,
  CoveragePlanTask,
  Download,
  DownloadTask,
  RemoteCoverage,
} from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { resourceBelow } from '../../../core/http/resource-url.js';
import { findOgcException, parseXmlDocument } from '../../files/xml.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { wellAnswered } from './discover/index.js';
import { findRelationLink, listApiCollections } from './discover/ogc-api.js';
import { download, get, type RemoteAccess } from './http.js';
import { listJsonObjects, object, parseLinks, parseObject, type RemoteJson, string } from './json.js';
import { selectIds } from './select-ids.js';
import { planWcs } from './wcs.js';

/** Task `ingest.coveragePlan`. Fails with `source-missing` for an id that the server does not have. */
export async function planCoverages(task: CoveragePlanTask, asking: RemoteAccess): Promise<CoveragePlan> {
  return task.protocol === 'wcs' ? planWcs(task, asking) : planApi(task, asking);
}

const GEOTIFF = /tiff/i;

/** OGC API Coverages: collections with a link to their coverage. */
async function planApi(task: CoveragePlanTask, asking: RemoteAccess): Promise<CoveragePlan> {
  const url = resourceBelow(task.url, 'collections');
  const headers = { ...task.headers, accept: 'application/json' };
  const read = async (address: string) =>
    parseObject(wellAnswered(await get({ ...task, url: address, headers }, asking), address).bytes);
  const listed: RemoteJson[] = [];
  const seen = new Set<string>();
  for (let next: string | undefined = url; next !== undefined && !seen.has(next); ) {
    if (seen.size === EXCHANGE_LIMITS.remoteFolders) throw refused('its list of collections does not end');
    seen.add(next);
    const page: RemoteJson = await read(next);
    listed.push(...listApiCollections(page));
    const following: string | undefined = findRelationLink(parseLinks(page, next), 'next')?.href;
    if (following !== undefined && new URL(following).origin !== new URL(url).origin)
      throw refused('its list of collections continues at another server');
    next = following;
  }
  const having = listed.filter((one) => coverageLink(one, url) !== undefined);
  const ids = selectIds(
    having.map((one) => string(one['id'])!),
    task.ids,
  );
  return {
    version: '',
    coverages: having.filter((one) => ids.includes(string(one['id'])!)).map((one) => ofCollection(one, url)),
  };
}

function coverageLink(collection: RemoteJson, base: string): string | undefined {
  const links = parseLinks(collection, base).filter(({ rel }) => /(^|\/)coverage$/.test(rel));
  return (links.find(({ type }) => GEOTIFF.test(type ?? '')) ?? links[0])?.href;
}

function ofCollection(collection: RemoteJson, base: string): RemoteCoverage {
  const url = new URL(coverageLink(collection, base)!);
  if (url.origin !== new URL(base).origin) throw refused('the link to a coverage leads to another server');
  url.searchParams.set('f', 'geotiff');
  return {
    id: string(collection['id'])!,
    title: string(collection['title']),
    description: string(collection['description']),
    bands: Object.keys(object(object(collection['schema'])['properties'])),
    crs: string(collection['storageCrs']) ?? listJsonObjects(collection['crs']).map(String)[0],
    url: url.href,
  };
}

/** Beginnings of TIFF and BigTIFF, in both orders of bytes. */
const MAGIC = new Set(['49492a00', '4d4d002a', '49492b00', '4d4d002b']);
/** Bytes of a report that is read for its reason. */
const REPORT_BYTES = 65_536;

/**
 * Task `ingest.coverage`: downloads a complete coverage to the disk. Fails with `source-unreadable` for data that is
 * not a TIFF.
 */
export async function downloadCoverage(task: DownloadTask, asking: RemoteAccess): Promise<Download> {
  const headers = { ...task.headers, accept: 'image/tiff;application=geotiff, image/tiff;q=0.9' };
  const answer = await download({ ...task, headers }, asking);
  if (await isTiff(task.path)) return answer;
  const reason = await reasonIn(task.path);
  await rm(task.path, { force: true });
  throw refused(reason ?? `it returned ${answer.mediaType ?? 'no media type'} instead of a GeoTIFF`);
}

async function isTiff(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && MAGIC.has(buffer.toString('hex'));
  } finally {
    await file.close();
  }
}

async function reasonIn(path: string): Promise<string | undefined> {
  if ((await stat(path)).size > REPORT_BYTES) return undefined;
  try {
    const exception = findOgcException(parseXmlDocument(await readFile(path)));
    return exception === undefined ? undefined : `it returned: ${exception}`;
  } catch {
    return undefined;
  }
}
