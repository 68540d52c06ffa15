/** Reads and writes frames of the engine protocol on a byte stream. */

import type { Socket } from 'node:net';
import {
  CHUNK_BYTES,
  completeMessage,
  FRAME_HEAD_BYTES,
  KIND,
  MAX_BLOB_BYTES,
  MAX_BLOBS,
  MAX_CONTROL_BYTES,
  type PackedMessage,
  type PartialMessage,
  packMessage,
  STREAM_ABOVE_BYTES,
  unpackMessage,
  WireError,
  type WireMessage,
} from './wire.js';

const CHUNK_ID_BYTES = 4;

/** Memory for a byte array of the message of this id. */
export type Room = (id: number, length: number) => Uint8Array;

const newRoom: Room = (_, length) => new Uint8Array(length);

/** Collects the byte arrays of one message while its chunks arrive. */
class Assembly {
  readonly blobs: Uint8Array[];
  #index = 0;
  #offset = 0;

  constructor(
    readonly partial: PartialMessage,
    room: Room,
  ) {
    this.blobs = partial.blobLengths.map((length) => room(partial.id, length));
    this.#skipFull();
  }

  get complete(): boolean {
    return this.#index === this.blobs.length;
  }

  take(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.byteLength) {
      const blob = this.blobs[this.#index];
      if (!blob) throw new WireError('more bytes than announced');
      const count = Math.min(blob.byteLength - this.#offset, bytes.byteLength - at);
      blob.set(bytes.subarray(at, at + count), this.#offset);
      this.#offset += count;
      at += count;
      this.#skipFull();
    }
  }

  #skipFull(): void {
    while (this.#index < this.blobs.length && this.#offset === this.blobs[this.#index]!.byteLength) {
      this.#index++;
      this.#offset = 0;
    }
  }
}

/** Turns bytes of a stream into messages. `push` throws `WireError` when the other side breaks the protocol. */
export class FrameReader {
  readonly #assemblies = new Map<number, Assembly>();
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES + CHUNK_ID_BYTES);
  #headFill = 0;
  #body: Buffer | null = null;
  #bodyFill = 0;
  #chunkLeft = 0;

  constructor(
    private readonly onMessage: (message: WireMessage) => void,
    private readonly room: Room = newRoom,
  ) {}

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.byteLength) {
      if (this.#chunkLeft > 0) at += this.#takeChunk(bytes.subarray(at, at + this.#chunkLeft));
      else if (this.#body) at += this.#takeBody(bytes.subarray(at));
      else at += this.#takeHead(bytes.subarray(at));
    }
  }

  #takeHead(bytes: Buffer): number {
    const chunk = this.#headFill >= FRAME_HEAD_BYTES && this.#head[4] === KIND.chunk;
    const room = (chunk ? FRAME_HEAD_BYTES + CHUNK_ID_BYTES : FRAME_HEAD_BYTES) - this.#headFill;
    const count = bytes.copy(this.#head, this.#headFill, 0, Math.min(room, bytes.byteLength));
    this.#headFill += count;
    if (count < room) return count;
    const length = this.#head.readUInt32LE(0);
    if (this.#head[4] === KIND.chunk) {
      if (length <= CHUNK_ID_BYTES || length > CHUNK_BYTES + CHUNK_ID_BYTES)
        throw new WireError('malformed chunk');
      if (!chunk) return count;
      this.#chunkLeft = length - CHUNK_ID_BYTES;
      if (!this.#assemblies.has(this.#chunkId())) throw new WireError('a chunk belongs to no message');
    } else {
      if (length === 0 || length > MAX_CONTROL_BYTES) throw new WireError('malformed frame length');
      this.#body = Buffer.allocUnsafe(length);
      this.#bodyFill = 0;
    }
    return count;
  }

  #chunkId(): number {
    return this.#head.readUInt32LE(FRAME_HEAD_BYTES);
  }

  #takeBody(bytes: Buffer): number {
    const body = this.#body!;
    const count = bytes.copy(body, this.#bodyFill);
    this.#bodyFill += count;
    if (this.#bodyFill < body.byteLength) return count;
    this.#body = null;
    this.#headFill = 0;
    const partial = unpackMessage(this.#head[4]!, body);
    if (this.#assemblies.has(partial.id) && partial.blobLengths.length > 0)
      throw new WireError('a message id is used twice');
    this.#deliverOrKeep(new Assembly(partial, this.room));
    return count;
  }

  #takeChunk(bytes: Buffer): number {
    const assembly = this.#assemblies.get(this.#chunkId())!;
    assembly.take(bytes);
    this.#chunkLeft -= bytes.byteLength;
    if (this.#chunkLeft === 0) this.#headFill = 0;
    if (assembly.complete) {
      if (this.#chunkLeft > 0) throw new WireError('more bytes than announced');
      this.#assemblies.delete(assembly.partial.id);
      this.onMessage(completeMessage(assembly.partial, assembly.blobs));
    }
    return bytes.byteLength;
  }

  #deliverOrKeep(assembly: Assembly): void {
    if (assembly.complete) this.onMessage(completeMessage(assembly.partial, assembly.blobs));
    else this.#assemblies.set(assembly.partial.id, assembly);
  }
}

/** Yields the chunk frames of one message as pieces to write. */
function* chunkFrames(message: PackedMessage): Generator<Uint8Array[]> {
  for (const blob of message.blobs) {
    for (let at = 0; at < blob.byteLength; at += CHUNK_BYTES) {
      const piece = blob.subarray(at, at + CHUNK_BYTES);
      yield [frameHead(KIND.chunk, piece.byteLength + CHUNK_ID_BYTES, message.id), piece];
    }
  }
}

function frameHead(kind: number, length: number, chunkId?: number): Buffer {
  const head = Buffer.allocUnsafe(
    chunkId === undefined ? FRAME_HEAD_BYTES : FRAME_HEAD_BYTES + CHUNK_ID_BYTES,
  );
  head.writeUInt32LE(length, 0);
  head[4] = kind;
  if (chunkId !== undefined) head.writeUInt32LE(chunkId, FRAME_HEAD_BYTES);
  return head;
}

/**
 * Writes messages to a socket. Small messages are sent complete and first. The chunks of large messages follow in
 * turns, one of each message, and only as fast as the socket drains. Byte arrays are written without a copy, so the
 * caller must not change them afterwards.
 */
export class FrameWriter {
  readonly #small: Uint8Array[][] = [];
  readonly #streams: Generator<Uint8Array[]>[] = [];
  #blocked = false;
  #onIdle: (() => void)[] = [];

  constructor(private readonly socket: Socket) {
    socket.on('drain', () => {
      this.#blocked = false;
      this.#pump();
    });
  }

  /** Throws `RangeError` when the message is larger than the protocol allows. */
  send(message: WireMessage): void {
    const packed = packMessage(message);
    const total = packed.blobs.reduce((sum, blob) => sum + blob.byteLength, 0);
    const fits =
      packed.control.byteLength <= MAX_CONTROL_BYTES &&
      total <= MAX_BLOB_BYTES &&
      packed.blobs.length <= MAX_BLOBS;
    if (!fits) throw new RangeError('a message is too large for the wire');
    this.#small.push([frameHead(packed.kind, packed.control.byteLength), packed.control]);
    if (total > STREAM_ABOVE_BYTES) this.#streams.push(chunkFrames(packed));
    else for (const frame of chunkFrames(packed)) this.#small.push(frame);
    this.#pump();
  }

  /** Resolves when every frame has been passed to the socket, or the socket is closed. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.socket.destroyed || !this.#blocked) return resolve();
      this.#onIdle.push(resolve);
      this.socket.once('close', resolve);
    });
  }

  #pump(): void {
    if (this.#blocked || this.socket.destroyed) return;
    this.socket.cork();
    while (!this.#blocked) {
      const frame = this.#small.shift() ?? this.#nextChunk();
      if (!frame) break;
      for (const part of frame) this.#blocked = !this.socket.write(part);
    }
    process.nextTick(() => this.socket.uncork());
    // If the writer is not blocked, no frame remains.
    if (!this.#blocked) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #nextChunk(): Uint8Array[] | undefined {
    for (let stream = this.#streams.shift(); stream; stream = this.#streams.shift()) {
      const { value, done } = stream.next();
      if (done) continue;
      this.#streams.push(stream);
      return value;
    }
    return undefined;
  }
}
