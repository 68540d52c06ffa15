import { createReadStream } from 'node:fs';

const CHUNK_BYTES = 1 << 20;

/** Whether the bytes of a file, as Latin-1, match a pattern. `overlap`: the longest match, in characters. */
export async function hasText(path: string, pattern: RegExp, overlap: number): Promise<boolean> {
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'latin1', highWaterMark: CHUNK_BYTES })) {
    const text = rest + chunk;
    if (pattern.test(text)) return true;
    rest = text.slice(-overlap);
  }
  return false;
}
