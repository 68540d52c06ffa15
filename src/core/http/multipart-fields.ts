import { utf8 } from '../values/json.js';

const LINE_END = '\r\n';
/** Bytes of the headers of a part. */
const MAX_HEADERS = 1000;
const DISPOSITION =
  /^content-disposition:[ \t]*form-data[ \t]*;[ \t]*name=(?:"([^"]{1,100})"|([\w.-]{1,100}))[ \t]*(;[ \t]*filename\*?=)?/im;

/** The boundary that a content type names (RFC 2046, 5.1.1); undefined for one that cannot be. */
export function parseBoundary(contentType: string): string | undefined {
  const [, quoted, token] =
    /;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'+./:=?-]{1,70}))\s*(?:;|$)/i.exec(contentType) ?? [];
  return quoted ?? token;
}

/**
 * Yields names and texts of a complete multipart/form-data form (RFC 7578) without files. Throws an `Error` with a
 * message for clients.
 */
export function* multipartFields(
  bytes: Uint8Array,
  boundary: string,
): Generator<[name: string, text: string]> {
  const form = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const delimiter = `--${boundary}`;
  let at = form.indexOf(delimiter);
  while (at >= 0) {
    at += delimiter.length;
    if (form.toString('latin1', at, at + 2) === '--') return;
    const start = form.indexOf(LINE_END + LINE_END, at);
    if (start < 0 || start - at > MAX_HEADERS) break;
    const end = form.indexOf(LINE_END + delimiter, start + 4);
    if (end < 0) break;
    yield [fieldName(utf8(form.subarray(at, start))), utf8(form.subarray(start + 4, end))];
    at = end + LINE_END.length;
  }
  throw new Error('The form ends before its last boundary.');
}

function fieldName(headers: string): string {
  const [, quoted, token, file] = DISPOSITION.exec(headers) ?? [];
  const name = quoted ?? token;
  if (name === undefined) throw new Error('A part of the form has no name.');
  if (file !== undefined) throw new Error(`${name.slice(0, 60)}: must be a text field, not a file.`);
  return name;
}
