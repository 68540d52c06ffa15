import { open } from 'node:fs/promises';

/** Flushes a written file to the disk. */
export async function writeThrough(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
}
