import { closeSync, openSync, writeSync } from 'node:fs';
import { expect } from 'vitest';

const MIB = 1 << 20;

/** Takes the free space of a disk with a file, to the last block. */
export function fillDisk(path: string): void {
  const file = openSync(path, 'a');
  for (const size of [MIB, 4096]) {
    const block = Buffer.alloc(size);
    try {
      while (writeSync(file, block) === size);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
  closeSync(file);
}
