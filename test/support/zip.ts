import { crc32, deflateRawSync } from 'node:zlib';

/** One entry of an archive; the odd members make it a hostile one. */
export interface ZipEntry {
  name: string;
  content: Buffer | string;
  stored?: boolean;
  /** Unix mode; a regular file when absent. */
  mode?: number;
  encrypted?: boolean;
  /** Size that the directory claims. */
  claimed?: number;
  /** Puts the bytes of the entry at this index in the place of its own. */
  sharedWith?: number;
}

/** A ZIP archive, byte by byte: no library writes what these tests need. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const entry of entries) {
    const content = Buffer.from(entry.content);
    const method = entry.stored ? 0 : 8;
    const data = entry.stored ? content : deflateRawSync(content, { level: 9 });
    const name = Buffer.from(entry.name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(entry.encrypted ? 1 : 0, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(entry.claimed ?? content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const own = offset;
    if (entry.sharedWith === undefined) {
      const local = Buffer.concat([Buffer.from('504b0304', 'hex'), common, name, data]);
      locals.push(local);
      offset += local.length;
    }
    offsets.push(entry.sharedWith === undefined ? own : offsets[entry.sharedWith]!);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((((entry.mode ?? 0o100644) << 16) >>> 0) as number, 6);
    rest.writeUInt32LE(offsets.at(-1)!, 10);
    const maker = Buffer.from([20, 3]);
    directory.push(Buffer.concat([Buffer.from('504b0102', 'hex'), maker, common, rest, name]));
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('504b0506', 0, 'hex');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, central, end]);
}
