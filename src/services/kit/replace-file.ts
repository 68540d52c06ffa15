import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';

/** Writes a file so that readers see the old text or the new one, also after a crash. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, text, { flag: 'wx', mode: 0o600, flush: true });
  await rename(draft, path);
}
