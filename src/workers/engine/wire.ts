/**
 * Protocol between a gateway and an engine over a Unix socket.
 * A frame is `u32 LE payload length`, `u8 kind`, payload. Payloads are msgpack, except those in CHUNK frames: `u32 LE
 * message id`, raw bytes. A request or result with byte arrays is sent as its msgpack part, in which each byte array
 * is a reference. Chunks with the concatenated bytes follow.
 */

import { addExtension, Packr, Unpackr } from 'msgpackr';
import type { FailureMessage } from '../../core/errors/failure.js';
import { CALLER_CLASSES, type Caller } from '../../core/kit/callers.js';
import type { TaskName, TaskWork } from '../../core/tasks/tasks.js';
import { exactNumber, isExactNumber } from '../../core/values/exact-number.js';

export const PROTOCOL_VERSION = 1;
/** Bytes before the payload of every frame. */
export const FRAME_HEAD_BYTES = 5;
/** Largest msgpack payload. */
export const MAX_CONTROL_BYTES = 8 << 20;
/** Largest sum of byte arrays in one message. */
export const MAX_BLOB_BYTES = 512 << 20;
/** Most byte arrays in one message. */
export const MAX_BLOBS = 4096;
/** Payload of one chunk of a streamed message, without its id. */
export const CHUNK_BYTES = 256 << 10;
/** Bytes of a message above which it is sent in chunks, so that other messages can pass between them. */
export const STREAM_ABOVE_BYTES = 1 << 20;

/** Tasks that engines run. */
export type EngineTaskName = Extract<
  TaskName,
  `engine.${string}` | `raster.${string}` | `map.${string}` | `ogr.${string}`
>;

export const ENGINE_TASKS: ReadonlySet<string> = new Set<EngineTaskName>([
  'raster.layers',
  'raster.inspect',
  'raster.coverage',
  'raster.position',
  'raster.elevation',
  'raster.image',
  'raster.histograms',
  'raster.compare',
  'map.render',
  'ogr.inspect',
  'ogr.inspectCsv',
  'ogr.preview',
  'ogr.stage',
  'ogr.translate',
  'ogr.unpack',
  'raster.import',
  'raster.process',
  'engine.look',
]);

export const KIND = {
  hello: 1,
  request: 2,
  result: 3,
  failure: 4,
  progress: 5,
  cancel: 6,
  ping: 7,
  pong: 8,
  goaway: 9,
  chunk: 10,
} as const;

export type WireMessage =
  /** First frame of an engine: proves that it speaks this protocol. */
  | { kind: 'hello'; version: number; pid: number }
  /** `deadlineMs` counts from the arrival. */
  | {
      kind: 'request';
      id: number;
      task: EngineTaskName;
      input: unknown;
      deadlineMs?: number;
      isMeasured?: true;
      request?: string;
      caller?: Caller;
      heavy?: boolean;
    }
  | { kind: 'result'; id: number; value: unknown; work?: TaskWork }
  | { kind: 'failure'; id: number; failure: FailureMessage }
  | { kind: 'progress'; id: number; fraction: number }
  | { kind: 'cancel'; id: number }
  | { kind: 'ping'; id: number }
  | { kind: 'pong'; id: number }
  /** The engine takes no more requests; those it has are finished. */
  | { kind: 'goaway' };

type MessageKind = WireMessage['kind'];

/** The other side broke the protocol: the connection must be closed. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Placeholder in the msgpack part for the byte array with this index. */
class BlobReference {
  constructor(readonly index: number) {}
}

const BLOB_EXTENSION = 0x42;
const DIGITS_EXTENSION = 0x43;
addExtension({
  Class: BlobReference,
  type: BLOB_EXTENSION,
  pack(reference: BlobReference): Buffer {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeUInt32LE(reference.index);
    return bytes;
  },
  unpack(bytes: Buffer): BlobReference {
    return new BlobReference(bytes.byteLength === 4 ? bytes.readUInt32LE(0) : -1);
  },
} as Parameters<typeof addExtension>[0]);

/** Number with all its digits, because MessagePack would lose its type. */
class Digits {
  constructor(readonly text: string) {}
}

addExtension({
  Class: Digits,
  type: DIGITS_EXTENSION,
  pack: ({ text }: Digits): Buffer => Buffer.from(text),
  unpack: (bytes: Buffer): Digits => new Digits(Buffer.from(bytes).toString()),
} as Parameters<typeof addExtension>[0]);

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });

type Json = Record<string, unknown>;

/** Replaces byte arrays by references and collects them in order. */
function lift(value: unknown, blobs: Uint8Array[]): unknown {
  if (value instanceof Uint8Array) return new BlobReference(blobs.push(value) - 1);
  if (isExactNumber(value)) return new Digits(String(value));
  if (Array.isArray(value)) return value.map((item) => lift(item, blobs));
  if (value === null || typeof value !== 'object') return value;
  const copy: Json = {};
  for (const [key, item] of Object.entries(value)) if (item !== undefined) copy[key] = lift(item, blobs);
  return copy;
}

/** Puts byte arrays back in place of their references. */
function lower(value: unknown, blobs: readonly Uint8Array[]): unknown {
  if (value instanceof BlobReference) {
    const blob = blobs[value.index];
    if (!blob) throw new WireError('a message refers to bytes that it does not carry');
    return blob;
  }
  if (value instanceof Digits) return exactNumber(value.text);
  if (Array.isArray(value)) return value.map((item) => lower(item, blobs));
  if (value === null || typeof value !== 'object') return value;
  const json = value as Json;
  for (const key of Object.keys(json)) json[key] = lower(json[key], blobs);
  return json;
}

/** Message as its msgpack part and its byte arrays (not copied). */
export interface PackedMessage {
  kind: number;
  id: number;
  control: Buffer;
  blobs: Uint8Array[];
}

export function packMessage(message: WireMessage): PackedMessage {
  const { kind, ...fields } = message;
  const blobs: Uint8Array[] = [];
  const lifted = lift(fields, blobs) as Json;
  if (blobs.length > 0) lifted.blobs = blobs.map((blob) => blob.byteLength);
  return { kind: KIND[kind], id: 'id' in message ? message.id : 0, control: packr.pack(lifted), blobs };
}

/** The msgpack part of a message whose byte arrays are still to come. */
export interface PartialMessage {
  kind: MessageKind;
  id: number;
  fields: Json;
  /** Length of each byte array. */
  blobLengths: number[];
}

const KIND_NAMES = new Map<number, MessageKind>(
  Object.entries(KIND)
    .filter(([name]) => name !== 'chunk')
    .map(([name, code]) => [code, name as MessageKind]),
);

/** Decodes and checks the msgpack part. Throws `WireError` on anything unexpected. */
export function unpackMessage(code: number, payload: Uint8Array): PartialMessage {
  const kind = KIND_NAMES.get(code);
  if (!kind) throw new WireError(`unknown frame kind ${code}`);
  let fields: unknown;
  try {
    fields = unpackr.unpack(payload);
  } catch (error) {
    throw new WireError('a frame is not msgpack', { cause: error });
  }
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) {
    throw new WireError('a frame is not a msgpack map');
  }
  const { blobs, ...rest } = fields as Json;
  checkFields(kind, rest);
  return {
    kind,
    id: typeof rest.id === 'number' ? rest.id : 0,
    fields: rest,
    blobLengths: blobLengths(blobs),
  };
}

/** Joins the msgpack part with its byte arrays. */
export function completeMessage(partial: PartialMessage, blobs: readonly Uint8Array[]): WireMessage {
  return { kind: partial.kind, ...(lower(partial.fields, blobs) as Json) } as WireMessage;
}

function blobLengths(value: unknown): number[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_BLOBS) throw new WireError('malformed byte array list');
  let total = 0;
  for (const length of value) {
    if (!Number.isSafeInteger(length) || length < 0) throw new WireError('malformed byte array length');
    total += length;
  }
  if (total > MAX_BLOB_BYTES) throw new WireError('a message is too large');
  return value as number[];
}

function checkFields(kind: MessageKind, fields: Json): void {
  if (kind !== 'hello' && kind !== 'goaway') {
    const id = fields.id;
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) > 0xffffffff)
      throw new WireError('malformed id');
  }
  if (kind === 'request') {
    if (typeof fields.task !== 'string' || !ENGINE_TASKS.has(fields.task))
      throw new WireError('unknown task');
    if (fields.caller !== undefined && !isCaller(fields.caller)) throw new WireError('malformed caller');
    const deadline = fields.deadlineMs;
    if (deadline !== undefined && !Number.isFinite(deadline)) throw new WireError('malformed deadline');
  }
  if (kind === 'hello' && fields.version !== PROTOCOL_VERSION)
    throw new WireError('protocol version differs');
  if (kind === 'progress' && !Number.isFinite(fields.fraction)) throw new WireError('malformed progress');
}

function isCaller(value: unknown): value is Caller {
  const { class: name, id } = (value ?? {}) as Partial<Caller>;
  return typeof id === 'string' && CALLER_CLASSES.some((one) => one === name);
}
