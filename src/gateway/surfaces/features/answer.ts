import type { ItemsResult } from '../../../core/features.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import type { Pools } from '../../../core/tasks.js';
import { contentTag } from '../../http/content-tag.js';
import { CSV_FORMAT, csvHeader, GML_FORMAT } from './formats.js';
import { GML_TAIL, gmlHead } from './gml.js';
import { type Page, readParts } from './items.js';
import { pageLinks } from './page-links.js';

/** What stands around the features of a page. */
interface Frame {
  readonly head: string;
  /** Between two parts. */
  readonly joint: string;
  /** Members that are only known at the end, then what closes the page. */
  tail(returned: number, last: ItemsResult): string;
}

/** A page as GeoJSON, GML or CSV: whole when it is short, else part by part as the client takes it. */
export async function pageReply(x: Exchange, pools: Pools, page: Page): Promise<Reply> {
  const frame = frameOf(x, page);
  const reply = {
    status: 200,
    mediaType: x.format.mediaType,
    cacheControl: 'no-cache',
    headers: { 'content-crs': `<${page.crs.uri}>` },
  };
  if (page.continues) return { ...reply, body: streamed(x, pools, page, frame) };
  const { features, returned } = page.first;
  const tail = frame.tail(returned, page.first);
  const tag = contentTag(`${contentTag(features)}${x.format.name}${tail}${page.crs.uri}`);
  const body = Buffer.concat([Buffer.from(frame.head), features, Buffer.from(stamped(x, tail))]);
  return { ...reply, etag: `W/${tag}`, body, headers: { ...reply.headers, ...linkHeader(x, page) } };
}

async function* streamed(x: Exchange, pools: Pools, page: Page, frame: Frame): AsyncGenerator<Uint8Array> {
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

function frameOf(x: Exchange, page: Page): Frame {
  if (x.format === CSV_FORMAT) return { head: csvHeader(page.fields), joint: '', tail: () => '' };
  if (x.format === GML_FORMAT) return { head: gmlHead(x), joint: '', tail: () => GML_TAIL };
  return {
    head: '{"type":"FeatureCollection","features":[',
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

/** The time of the answer is no part of its entity tag. */
function stamped(x: Exchange, tail: string): string {
  if (x.format === CSV_FORMAT || x.format === GML_FORMAT) return tail;
  return `${tail.slice(0, -1)},"timeStamp":"${new Date().toISOString()}"}`;
}

/** Formats without links of their own carry those to other pages in a header (RFC 8288). */
function linkHeader(x: Exchange, page: Page): Record<string, string> {
  if (x.format !== CSV_FORMAT && x.format !== GML_FORMAT) return {};
  const links = pageLinks(x, page, page.first.last, page.first.more)
    .filter(({ rel }) => rel === 'next' || rel === 'prev')
    .map(({ href, rel, type }) => `<${href}>; rel="${rel}"; type="${type}"`);
  return links.length > 0 ? { link: links.join(', ') } : {};
}

/** Id and properties of each feature of a page read without geometry. */
export function featureRows(page: Page): { id: string | number; properties: Record<string, unknown> }[] {
  return JSON.parse(`[${Buffer.from(page.first.features).toString('utf8')}]`);
}
