import { COMPRESSIONS, CONTENT_CODINGS, type ContentCoding } from '../../core/content-coding.js';

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
export function contentTagOf(tag: string): string {
  return tag.replace(SUFFIX, '');
}

/**
 * The coding of the form that If-None-Match names of a content (weak comparison, RFC 9110, 8.8.3.2), among those that
 * the client takes; `any` where it names all forms.
 */
export function matchingForm(
  header: string,
  tag: string,
  accepts: (coding: ContentCoding) => boolean,
): ContentCoding | 'any' | undefined {
  if (header.trim() === '*') return 'any';
  const opaque = tag.replace(/^W\//, '');
  const tags = header.split(',').map((one) => /^(?:W\/)?"([^"]*)"$/.exec(one.trim())?.[1]);
  return CONTENT_CODINGS.find((coding) => {
    const name = coding === 'identity' ? opaque : `${opaque}-${coding}`;
    return tags.includes(name) && accepts(coding);
  });
}
