import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { ApiError } from '../../core/errors/errors.js';
import { makeFolder } from '../../core/files/own-folder.js';
import { LIMITS as BOUNDS } from '../../core/kit/limits.js';
import { uploads } from '../telemetry/store-metrics.js';
import { uploadFailure } from './upload-failure.js';

export interface UploadSource {
  /** Value of Content-Type. */
  contentType: string | undefined;
  bytes: AsyncIterable<Uint8Array>;
}

/** Observer of an upload while it arrives. It can end the upload. */
export interface UploadWatch {
  /** Ends the upload; its reason is an `ApiError`. */
  readonly signal: AbortSignal;
  field(name: string, value: string): void;
  file(name: string, mediaType: string): void;
  bytes(count: number): void;
}

export interface UploadRules {
  directory: string;
  maxBytes: number;
  /** Accepted file extensions, in lower case with the dot. Default: all. */
  extensions?: ReadonlySet<string>;
  /** Reason why files with other extensions are not accepted, if there is a specific one. */
  refusalOf?(fileName: string): string | undefined;
  /** Parts, by their names in lower case, that are small texts: they are among the fields, sent as files or not. */
  texts?: ReadonlySet<string>;
  watch?: UploadWatch;
  /** Called with the fields in front of the file before any of it is stored; a rejection ends the upload. */
  admit?(fields: ReadonlyMap<string, string>): Promise<void>;
}

/** A file on disk, which the receiver now owns. */
interface UploadedFile {
  path: string;
  /** Name that the client gave, without directories. */
  fileName: string;
  /** Media type in its part of the form. */
  mediaType: string;
  size: number;
}

/** The fields of a form, and its file. */
interface Form {
  /** Field names in lower case: form fields bind case-insensitively. */
  fields: ReadonlyMap<string, string>;
  file: UploadedFile | undefined;
}

/** A file and the other fields of its form. */
export interface Upload extends UploadedFile, Pick<Form, 'fields'> {}

const LIMITS = { fields: 40, files: 1, parts: 60, fieldSize: 65_536, fieldNameSize: 100, headerPairs: 40 };

type Parser = InstanceType<typeof Busboy>;

/**
 * Receives a multipart form with one file, streamed to the disk and flushed. Throws 400 for a broken form, 413 above
 * `maxBytes`, 415 for another content type or file extension. After an error no file remains.
 */
export async function receiveUpload(source: UploadSource, rules: UploadRules): Promise<Upload> {
  const { file, fields } = await receiveForm(source, rules);
  if (!file) throw new ApiError('invalid-request', 'file: is required.');
  return { ...file, fields };
}

/** Like `receiveUpload`, for a form in which the file is optional. */
export async function receiveForm(source: UploadSource, rules: UploadRules): Promise<Form> {
  uploads.receiving++;
  try {
    return await receive(source, rules);
  } finally {
    uploads.receiving--;
  }
}

async function receive(source: UploadSource, rules: UploadRules): Promise<Form> {
  const form = parser(source.contentType, rules);
  await makeFolder(rules.directory);
  const fields = new Map<string, string>();
  const writing: Promise<UploadedFile | ApiError>[] = [];
  // Ends the writers when the form ends badly: the parser would leave them waiting for bytes.
  const stop = new AbortController();
  // The first error ends the reading, because the rest of a large body is useless.
  const refuse = (error: ApiError) => void form.destroy(error);
  form.on('field', (name, value, _nameTruncated, valueTruncated) => {
    if (valueTruncated) refuse(new ApiError('payload-too-large', 'A form field is too long.'));
    // The parser's types promise a name that a malformed part does not have.
    else if (!name) refuse(new ApiError('invalid-request', 'A form field has no name.'));
    else {
      fields.set(name.toLowerCase(), value);
      watched(() => rules.watch?.field(name.toLowerCase(), value), refuse);
    }
  });
  form.on('file', (field, stream, name, _encoding, mediaType) => {
    if (rules.texts?.has((field ?? '').toLowerCase())) {
      readText(stream, (text) => fields.set(field.toLowerCase(), text), refuse);
      return;
    }
    if (writing.length > 0) refuse(tooManyParts());
    stream.on('limit', () => refuse(tooLarge(rules.maxBytes)));
    rules.watch?.file(name ?? '', mediaType);
    const take = async () => {
      await rules.admit?.(fields);
      return write(stream, { fileName: name ?? '', mediaType }, rules, stop.signal);
    };
    // The form can end before its file is read.
    stream.on('error', () => {});
    const file = take().catch((error: unknown) => {
      const failure = broken(error);
      refuse(failure);
      return failure;
    });
    writing.push(file);
  });
  for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const) {
    form.on(limit, () => refuse(tooManyParts()));
  }
  const onStop = () => refuse(broken(rules.watch?.signal.reason));
  rules.watch?.signal.addEventListener('abort', onStop, { once: true });
  const failure = await pipeline(Readable.from(source.bytes), form).then(() => undefined, broken);
  rules.watch?.signal.removeEventListener('abort', onStop);
  if (failure) stop.abort();
  return accept(failure, await Promise.all(writing), fields);
}

/** Calls a watcher. If the watcher throws, the upload ends. */
function watched(tell: () => void, refuse: (error: ApiError) => void): void {
  try {
    tell();
  } catch (error) {
    refuse(broken(error));
  }
}

function tooManyParts(): ApiError {
  return new ApiError(
    'invalid-request',
    'The form has too many parts. Send only the file and the documented fields.',
  );
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload-too-large', `The file is too large. The limit is ${maxBytes} bytes.`);
}

/** Reads a part as text. A part that exceeds the limit of a field is refused. */
function readText(stream: Readable, take: (text: string) => void, refuse: (error: ApiError) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= LIMITS.fieldSize) chunks.push(chunk);
    else refuse(new ApiError('payload-too-large', 'A form field is too long.'));
  });
  stream.on('end', () => take(Buffer.concat(chunks).toString('utf8')));
}

function parser(contentType: string | undefined, { maxBytes, texts }: UploadRules): Parser {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) {
    throw new ApiError('unsupported-media-type', 'Content-Type: must be multipart/form-data.');
  }
  try {
    return new Busboy({
      headers: { 'content-type': contentType! },
      limits: { ...LIMITS, files: LIMITS.files + (texts?.size ?? 0), fileSize: maxBytes },
    });
  } catch (cause) {
    throw new ApiError(
      'invalid-request',
      'Content-Type: the multipart form has no boundary. Send multipart/form-data; boundary=….',
      { cause },
    );
  }
}

/** The extension that identifies the format: `.geojson.gz` for a compressed file. */
export function getFormatExtension(fileName: string): string {
  const name = fileName.toLowerCase();
  const extension = extname(name);
  return extension === '.gz' ? extname(name.slice(0, -extension.length)) + extension : extension;
}

async function write(
  stream: Readable,
  { fileName, mediaType }: Pick<UploadedFile, 'fileName' | 'mediaType'>,
  { directory, extensions, refusalOf, watch }: UploadRules,
  signal: AbortSignal,
): Promise<UploadedFile> {
  const extension = extensions ? getFormatExtension(fileName) : '';
  if (extensions && !extensions.has(extension)) {
    // The stream is not read, but its errors must still be handled.
    stream.on('error', () => {}).resume();
    const list = [...extensions].join(', ');
    const reason = refusalOf?.(fileName) ?? 'Files of this kind cannot be imported.';
    throw new ApiError('unsupported-media-type', `${reason} Use ${list}.`);
  }
  // The client's name is only recorded, so the path cannot lead to another folder.
  const path = join(directory, randomUUID() + extension);
  const out = createWriteStream(path, {
    flags: 'wx',
    mode: 0o600,
    flush: true,
    highWaterMark: BOUNDS.uploadBuffer,
  });
  try {
    const writing = pipeline(stream, out, { signal });
    stream.on('data', (part: Buffer) => watch?.bytes(part.byteLength));
    await writing;
    return { fileName, mediaType, path, size: out.bytesWritten };
  } catch (error) {
    // The file may only now come into being: a stream that was ended while it opened closes after that.
    if (!out.closed) await new Promise<void>((closed) => out.once('close', () => closed()));
    await rm(path, { force: true });
    throw error;
  }
}

async function accept(
  failure: ApiError | undefined,
  files: readonly (UploadedFile | ApiError)[],
  fields: ReadonlyMap<string, string>,
): Promise<Form> {
  const parts = files.filter((file): file is UploadedFile => !(file instanceof ApiError));
  const [file] = parts;
  if (!failure && files.length === 0) return { file: undefined, fields };
  if (!failure && file && file.size > 0) return { file, fields };
  for (const { path } of parts) await rm(path, { force: true });
  // A small form can be read completely before writing its file fails.
  const unwritten = files.find((one) => one instanceof ApiError);
  throw failure ?? unwritten ?? new ApiError('invalid-request', 'The file is empty. Send a file with data.');
}

function broken(error: unknown): ApiError {
  return uploadFailure(error, 'The multipart form is malformed or was interrupted before its end.');
}
