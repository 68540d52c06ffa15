import { COMPRESSIONS, CONTENT_CODINGS, type ContentCoding } from '../../../core/http/content-coding.js';

/**
 * One rule for all: a tag names a content, and its form in a coding of the wire is the same tag with the coding behind it. So
 * forms have different tags (RFC 9110, 8.8.3), and whichever of them a client saw, it saw this content.
 */
export function codedTag(tag: string, coding: ContentCoding): string {
  const suffix = coding === 'identity' ? '' : `-${coding}`;
  return tag.startsWith('W/') ? `W/"${tag.slice(2)}${suffix}"` : `"${tag}${suffix}"`;
}

const SUFFIX = new RegExp(`-(${COMPRESSIONS.join('|')})$`);

/** The tag of the content, of the tag of any of its forms; both without quotes. */
function buildContentTag(tag: string): string {
  return tag.replace(SUFFIX, '');
}

interface EntityTag {
  /** The text between the quotes. */
  readonly opaque: string;
  readonly isWeak: boolean;
}

/** Commas within quotes are part of a tag. */
const MEMBERS = /(?:[^",]|"[^"]*"?)+/g;
const TAG = /^(W\/)?"([^"]*)"$/;

/**
 * Reads the tags of an If-Match or If-None-Match header (RFC 9110, 13.1); `*` matches every tag. Invalid tags are
 * omitted.
 */
function readTags(header: string): '*' | EntityTag[] {
  if (header.trim() === '*') return '*';
  return (header.match(MEMBERS) ?? []).flatMap((member) => {
    const [tag, weak, opaque] = TAG.exec(member.trim()) ?? [];
    return tag === undefined ? [] : [{ opaque: opaque!, isWeak: weak !== undefined }];
  });
}

/**
 * The tags of an If-Match header; `*` matches every tag. Weak tags never match (RFC 9110, 13.1.1) and are omitted.
 */
export function ifMatchTags(header: string): '*' | string[] {
  const tags = readTags(header);
  return tags === '*'
    ? tags
    : tags.filter(({ isWeak }) => !isWeak).map(({ opaque }) => buildContentTag(opaque));
}

/**
 * The coding of the representation that If-None-Match names (weak comparison, RFC 9110, 8.8.3.2), out of those that
 * the client accepts; `any` if the header matches every representation.
 */
export function matchingForm(
  header: string,
  tag: string,
  accepts: (coding: ContentCoding) => boolean,
): ContentCoding | 'any' | undefined {
  const tags = readTags(header);
  if (tags === '*') return 'any';
  const content = tag.replace(/^W\//, '');
  return CONTENT_CODINGS.find((coding) => {
    const name = coding === 'identity' ? content : `${content}-${coding}`;
    return tags.some(({ opaque }) => opaque === name) && accepts(coding);
  });
}
