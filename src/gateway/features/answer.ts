import type { ItemsResult } from '../../core/features/features.js';
import { buildCrsUri } from '../../core/geometry/crs.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { csvHeader } from '../../core/values/csv.js';
import { linkHeader } from '../surface/common.js';
import { crsMember } from '../surface/crs-member.js';
import { CSV_FORMAT, GML_FORMAT } from './formats.js';
import { GML_TAIL, gmlHead } from './gml.js';
import { type FirstPagePart, type PageEnd, readEnd, readParts } from './items.js';
import { pageLinks } from './page-links.js';
import { guardsFormulas } from './params.js';

/** The text before and after the features of a page. */
interface Frame {
  readonly head: string;
  /** Between two parts. */
  readonly joint: string;
  /** Members that are only known at the end, then what closes the page. */
  tail(returned: number, last: ItemsResult): string;
}

/** A page as GeoJSON, GML or CSV: whole when it is short, else part by part as the client takes it. */
export async function pageReply(x: Exchange, pools: Pools, page: FirstPagePart): Promise<Reply> {
  const frame = buildFrame(x, page);
  const reply = {
    status: 200,
    mediaType: x.format.mediaType,
    cacheControl: 'no-cache',
    headers: { 'content-crs': `<${buildCrsUri(page.crs, x.baseUrl)}>` },
  };
  if (page.continues) {
    const end = hasLinks(x) ? undefined : await readEnd(x, pools, page);
    const headers = { ...reply.headers, ...(end && pageHeaders(x, page, end)) };
    return { ...reply, headers, body: streamed(x, pools, page, frame) };
  }
  const { features, returned } = page.first;
  const tail = frame.tail(returned, page.first);
  const tag = contentTag(`${contentTag(features)}${x.format.name}${tail}${page.crs.uri}`);
  const body = Buffer.concat([Buffer.from(frame.head), features, Buffer.from(stamped(x, tail))]);
  const headers = hasLinks(x) ? reply.headers : { ...reply.headers, ...pageHeaders(x, page, page.first) };
  return { ...reply, etag: `W/${tag}`, body, headers };
}

async function* streamed(
  x: Exchange,
  pools: Pools,
  page: FirstPagePart,
  frame: Frame,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(frame.head);
  let returned = 0;
  let last = page.first;
  for await (const part of readParts(x, pools, page)) {
    if (part.returned === 0) continue;
    if (returned > 0 && frame.joint) yield Buffer.from(frame.joint);
    yield part.features;
    returned += part.returned;
    last = part;
  }
  yield Buffer.from(stamped(x, frame.tail(returned, last)));
}

function buildFrame(x: Exchange, page: FirstPagePart): Frame {
  if (x.format === CSV_FORMAT)
    return { head: csvHeader(page.fields, { guardsFormulas: guardsFormulas(x) }), joint: '', tail: () => '' };
  if (x.format === GML_FORMAT) return { head: gmlHead(x), joint: '', tail: () => GML_TAIL };
  return {
    head: `{"type":"FeatureCollection",${crsMember(page.crs)}"features":[`,
    joint: ',',
    tail(returned, last) {
      const members = {
        numberMatched: page.numberMatched,
        numberReturned: returned,
        links: pageLinks(x, page, last.last, last.more),
      };
      return `],${JSON.stringify(members).slice(1, -1)}}`;
    },
  };
}

/** The time of the response is not part of its entity tag. */
function stamped(x: Exchange, tail: string): string {
  if (!hasLinks(x)) return tail;
  return `${tail.slice(0, -1)},"timeStamp":"${new Date().toISOString()}"}`;
}

/** Whether the format can contain links and the other members of a page. */
function hasLinks({ format }: Exchange): boolean {
  return format !== CSV_FORMAT && format !== GML_FORMAT;
}

/**
 * Headers for what GeoJSON contains next to the features, for formats that cannot contain it (OGC 17-069r4,
 * /req/gmlsf0/headers).
 */
function pageHeaders(
  x: Exchange,
  page: FirstPagePart,
  { returned, last, more }: PageEnd,
): Record<string, string> {
  return {
    link: linkHeader(pageLinks(x, page, last, more)),
    ...(page.numberMatched === undefined ? {} : { 'ogc-numbermatched': String(page.numberMatched) }),
    'ogc-numberreturned': String(returned),
  };
}
