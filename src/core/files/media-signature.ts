/** Detects media types from the first bytes of files, and compares them with declared types. */

const OCTETS = 'application/octet-stream';
const TEXT = 'text/plain';
const XML = 'application/xml';
const ZIP = 'application/zip';
const OLE = 'application/x-ole-storage';

/** Bytes at a place, in ASCII with `\x` escapes. */
type Signature = readonly [mediaType: string, at: number, bytes: string];

const SIGNATURES: readonly Signature[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF87a'],
  ['image/gif', 0, 'GIF89a'],
  ['image/webp', 8, 'WEBP'],
  ['image/tiff', 0, 'II*\0'],
  ['image/tiff', 0, 'MM\0*'],
  ['image/bmp', 0, 'BM'],
  ['application/pdf', 0, '%PDF-'],
  [ZIP, 0, 'PK\x03\x04'],
  [ZIP, 0, 'PK\x05\x06'],
  ['application/gzip', 0, '\x1f\x8b'],
  ['application/x-7z-compressed', 0, '7z\xbc\xaf\x27\x1c'],
  [OLE, 0, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['image/heic', 4, 'ftyphei'],
  ['image/heic', 4, 'ftypmif1'],
  ['image/avif', 4, 'ftypavif'],
  ['video/mp4', 4, 'ftyp'],
  ['audio/wav', 8, 'WAVE'],
  ['video/x-msvideo', 8, 'AVI '],
  ['audio/ogg', 0, 'OggS'],
  ['audio/flac', 0, 'fLaC'],
  ['video/webm', 0, '\x1a\x45\xdf\xa3'],
  ['audio/mpeg', 0, 'ID3'],
  ['audio/mpeg', 0, '\xff\xfb'],
];

const SIGNATURE_TYPES: ReadonlySet<string> = new Set(SIGNATURES.map(([mediaType]) => mediaType));

/** Alternative names of media types. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/x-ms-bmp': 'image/bmp',
  'image/heif': 'image/heic',
  'application/x-pdf': 'application/pdf',
  'application/x-zip-compressed': ZIP,
  'application/x-gzip': 'application/gzip',
  'text/xml': XML,
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/mp3': 'audio/mpeg',
  'video/avi': 'video/x-msvideo',
  'video/ogg': 'audio/ogg',
  'application/ogg': 'audio/ogg',
  'video/quicktime': 'video/mp4',
  'audio/mp4': 'video/mp4',
  'audio/x-m4a': 'video/mp4',
  'video/3gpp': 'video/mp4',
  'audio/webm': 'video/webm',
  'video/x-matroska': 'video/webm',
};

/** Media types by the endings of names. */
const ENDINGS: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  bmp: 'image/bmp',
  heic: 'image/heic',
  avif: 'image/avif',
  pdf: 'application/pdf',
  zip: ZIP,
  gz: 'application/gzip',
  '7z': 'application/x-7z-compressed',
  mp4: 'video/mp4',
  mov: 'video/mp4',
  m4a: 'video/mp4',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  avi: 'video/x-msvideo',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  webm: 'video/webm',
  txt: TEXT,
  csv: 'text/csv',
  json: 'application/json',
  geojson: 'application/geo+json',
  xml: XML,
  html: 'text/html',
  htm: 'text/html',
  xhtml: 'text/html',
  svg: 'image/svg+xml',
  js: 'text/javascript',
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  odt: 'application/vnd.oasis.opendocument.text',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
};

/** Media types that browsers execute. */
const ACTIVE: ReadonlySet<string> = new Set(['text/html', 'image/svg+xml', 'text/javascript']);

export interface FileWords {
  /** Media type that its sender states. */
  readonly mediaType: string | undefined;
  readonly name: string;
}

/** Returns the media type from the first bytes of a file, or the reason why it contradicts the declared type. */
export function checkedMediaType(
  head: Uint8Array,
  { mediaType, name }: FileWords,
): { mediaType: string } | { problem: string } {
  const bytes = findSignature(head);
  if (ACTIVE.has(bytes)) return { problem: `is ${bytes}, which is not allowed` };
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const words = [normal(mediaType), ENDINGS[ending] && normal(ENDINGS[ending])];
  for (const word of words)
    if (word !== undefined && !agrees(word, bytes))
      return { problem: `says that it is ${word.slice(0, 100)}, and is ${bytes}` };
  return { mediaType: words.find((word) => word !== undefined && isNarrower(word, bytes)) ?? bytes };
}

function normal(mediaType = ''): string | undefined {
  const word = mediaType.split(';')[0]!.trim().toLowerCase();
  return word === '' || word === OCTETS ? undefined : (ALIASES[word] ?? word);
}

/**
 * Whether a declared type is a special case of a detected type: documents in ZIP archives and OLE storages, text and
 * XML languages.
 */
function isNarrower(word: string, bytes: string): boolean {
  switch (bytes) {
    case ZIP:
      return /^application\/(vnd\.(openxmlformats-|oasis\.|google-earth\.kmz)|epub\+zip$)/.test(word);
    case OLE:
      return /^application\/(msword$|vnd\.ms-)/.test(word);
    case XML:
      return /^application\/[\w.-]+\+xml$/.test(word) && word !== 'application/xhtml+xml';
    case TEXT:
      return isText(word);
    default:
      return false;
  }
}

function isText(word: string): boolean {
  return !ACTIVE.has(word) && (/^text\/[\w.+-]+$/.test(word) || /^application\/([\w.-]+\+)?json$/.test(word));
}

function agrees(word: string, bytes: string): boolean {
  if (word === bytes || isNarrower(word, bytes)) return true;
  if (bytes === XML) return word === TEXT;
  // Content without a known signature can have any declared type without a signature.
  const isPlain = !SIGNATURE_TYPES.has(word) && !isText(word) && !ACTIVE.has(word) && word !== XML;
  return bytes === OCTETS && isPlain && !isNarrower(word, ZIP) && !isNarrower(word, OLE);
}

function findSignature(head: Uint8Array): string {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(32, head.byteLength)).toString('latin1');
  const hit = SIGNATURES.find(([, at, bytes]) => start.startsWith(bytes, at));
  // The signature `BM` has two letters, which can also start a text.
  const isSure = hit !== undefined && hit[2] !== 'BM';
  const text = isSure ? OCTETS : textSignature(head);
  return text === OCTETS ? (hit?.[0] ?? OCTETS) : text;
}

const PROLOGUE = /^\uFEFF?\s*(<\?xml\b[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*/;

/** Text is UTF-8 without control characters; the last character may be cut. */
function textSignature(head: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
  } catch {
    return OCTETS;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what text does not have.
  if (/[\x00-\x08\x0e-\x1a\x1c-\x1f]/.test(text)) return OCTETS;
  const root = text.replace(PROLOGUE, '').slice(0, 100);
  if (/^<(!doctype\s+)?(\w+:)?(html|head|body|script|iframe)\b/i.test(root)) return 'text/html';
  if (/^<(!doctype\s+)?(\w+:)?svg\b/i.test(root)) return 'image/svg+xml';
  return /^\uFEFF?\s*<\?xml\b/.test(text) ? XML : TEXT;
}
