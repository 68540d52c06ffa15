import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32, deflateRaw } from 'node:zlib';

const deflate = promisify(deflateRaw);

/** Signatures and sizes of the records of a ZIP archive (APPNOTE 6.3.10, 4.3). */
const LOCAL = { signature: 0x04034b50, bytes: 30 };
const CENTRAL = { signature: 0x02014b50, bytes: 46 };
const END = { signature: 0x06054b50, bytes: 22 };
const VERSION = 20;
/** Names are UTF-8. */
const FLAGS = 0x0800;
const DEFLATE = 8;
/** 1980-01-01, the first day that there is: archives of equal content are equal. */
const DATE = 0x0021;

interface Entry {
  readonly name: Buffer;
  readonly crc: number;
  readonly packedBytes: number;
  readonly bytes: number;
  readonly offset: number;
}

/** Writes a ZIP archive of less than 4 GiB and 65,536 entries, an entry at a time. */
export class ZipWriter {
  readonly #entries: Entry[] = [];
  #offset = 0;

  private constructor(private readonly file: FileHandle) {}

  /** Makes the file, or empties it. */
  static async create(path: string): Promise<ZipWriter> {
    return new ZipWriter(await open(path, 'w', 0o600));
  }

  async add(name: string, content: Uint8Array): Promise<void> {
    const packed = await deflate(content);
    const entry: Entry = {
      name: Buffer.from(name),
      crc: crc32(content),
      packedBytes: packed.length,
      bytes: content.length,
      offset: this.#offset,
    };
    this.#entries.push(entry);
    await this.#write(localHeader(entry), entry.name, packed);
  }

  /** The archive is on the disk once it resolves. */
  async close(): Promise<void> {
    const start = this.#offset;
    for (const entry of this.#entries) await this.#write(centralHeader(entry), entry.name);
    await this.#write(endRecord(this.#entries.length, start, this.#offset - start));
    await this.file.datasync();
    await this.file.close();
  }

  /** Closes the file without an end: it is no archive. */
  async abandon(): Promise<void> {
    await this.file.close();
  }

  async #write(...parts: Buffer[]): Promise<void> {
    const { bytesWritten } = await this.file.write(Buffer.concat(parts), 0, null, this.#offset);
    this.#offset += bytesWritten;
  }
}

function localHeader(entry: Entry): Buffer {
  const header = Buffer.alloc(LOCAL.bytes);
  header.writeUInt32LE(LOCAL.signature, 0);
  writeCommon(header, 4, entry);
  return header;
}

function centralHeader(entry: Entry): Buffer {
  const header = Buffer.alloc(CENTRAL.bytes);
  header.writeUInt32LE(CENTRAL.signature, 0);
  header.writeUInt16LE(VERSION, 4);
  writeCommon(header, 6, entry);
  header.writeUInt32LE(entry.offset, 42);
  return header;
}

/** What both headers of an entry have, in the same order. */
function writeCommon(header: Buffer, at: number, { name, crc, packedBytes, bytes }: Entry): void {
  header.writeUInt16LE(VERSION, at);
  header.writeUInt16LE(FLAGS, at + 2);
  header.writeUInt16LE(DEFLATE, at + 4);
  header.writeUInt16LE(DATE, at + 8);
  header.writeUInt32LE(crc, at + 10);
  header.writeUInt32LE(packedBytes, at + 14);
  header.writeUInt32LE(bytes, at + 18);
  header.writeUInt16LE(name.length, at + 22);
}

function endRecord(entries: number, start: number, bytes: number): Buffer {
  const record = Buffer.alloc(END.bytes);
  record.writeUInt32LE(END.signature, 0);
  record.writeUInt16LE(entries, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(bytes, 12);
  record.writeUInt32LE(start, 16);
  return record;
}
