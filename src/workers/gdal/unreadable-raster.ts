/** Causes of raster files that no driver opens, with what to do. */

import { stat } from 'node:fs/promises';
import { dirname, extname, isAbsolute, resolve } from 'node:path';
import { exists } from '../../core/files/exists.js';
import { readFileStart } from '../files/start-of-file.js';

/** First bytes of formats in hexadecimal, by extension. */
const STARTS: Readonly<Record<string, { name: string; start: RegExp }>> = {
  '.tif': { name: 'TIFF', start: /^(49492[ab]00|4d4d002[ab])/ },
  '.tiff': { name: 'TIFF', start: /^(49492[ab]00|4d4d002[ab])/ },
  '.png': { name: 'PNG', start: /^89504e47/ },
  '.jpg': { name: 'JPEG', start: /^ffd8/ },
  '.jpeg': { name: 'JPEG', start: /^ffd8/ },
  '.webp': { name: 'WebP', start: /^52494646/ },
  '.gif': { name: 'GIF', start: /^474946/ },
  '.img': { name: 'Erdas Imagine', start: /^454846415f484541/ },
  '.jp2': { name: 'JPEG 2000', start: /^(0000000c6a50|ff4fff51)/ },
};
const HEAD_BYTES = 65_536;
const MAX_NAMED = 3;

/** Returns the reason why a raster cannot be opened. Undefined if it is not known. */
export async function findRasterFault(path: string): Promise<string | undefined> {
  const extension = extname(path).toLowerCase();
  const head = await readFileStart(path, HEAD_BYTES);
  if (extension === '.vrt') return findVrtFault(path, head.toString('utf8'));
  const format = STARTS[extension];
  if (!format) return undefined;
  if (!format.start.test(head.subarray(0, 8).toString('hex'))) {
    const shown = head
      .subarray(0, 20)
      .toString('latin1')
      .replace(/[^ -~]/g, '.');
    return `The file is not ${format.name}: it starts with ${JSON.stringify(shown)}. Export it again, or give it the extension of its format.`;
  }
  const { size } = await stat(path);
  const directory = format.name === 'TIFF' ? readDirectoryOffset(head) : undefined;
  const at = size.toLocaleString('en');
  if (directory !== undefined && directory >= size)
    return `The TIFF ends at byte ${at}, before its directory at byte ${directory.toLocaleString('en')}: the file is truncated. Copy it again.`;
  return `The ${format.name} file of ${at} bytes is damaged or truncated. Copy it again.`;
}

/** Offset of the first directory of a TIFF or BigTIFF. */
function readDirectoryOffset(head: Buffer): number | undefined {
  if (head.length < 16) return undefined;
  const isLittle = head[0] === 0x49;
  const isBig = head[isLittle ? 2 : 3] === 0x2b;
  if (isBig) return Number(isLittle ? head.readBigUInt64LE(8) : head.readBigUInt64BE(8));
  return isLittle ? head.readUInt32LE(4) : head.readUInt32BE(4);
}

/** Files of a virtual raster that do not exist. */
async function findVrtFault(path: string, text: string): Promise<string | undefined> {
  const names = [...text.matchAll(/<SourceFilename[^>]*>([^<]+)</g)].map(([, name]) => name!);
  const missing: string[] = [];
  for (const name of new Set(names)) {
    if (!isAbsolute(name) && !(await exists(resolve(dirname(path), name)))) missing.push(name);
  }
  if (missing.length === 0) return undefined;
  const shown = missing.slice(0, MAX_NAMED).join(', ');
  const rest = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : '';
  return `The virtual raster refers to files that do not exist: ${shown}${rest}. Copy them into its folder.`;
}
