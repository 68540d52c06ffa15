import { isDatabase } from './database-url.js';

/** Whether a source is an archive that is read over HTTP. */
export function isRemote(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** Whether a source is a file or a folder. */
export function isPath(source: string): boolean {
  return !isDatabase(source) && !isRemote(source);
}
