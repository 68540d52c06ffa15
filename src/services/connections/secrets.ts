import { readFile, realpath, stat } from 'node:fs/promises';
import { ApiError } from '../../core/errors/errors.js';

/** Bytes of a file with a secret. */
const MAX_BYTES = 16_384;

/** Problem of a reference to an external secret. Undefined if the reference is allowed. */
export function referenceProblem(reference: string, allowed: readonly string[]): string | undefined {
  if (!/^(env:[A-Za-z_][A-Za-z0-9_]*|file:\/.+)$/.test(reference)) return 'must be env:NAME or file:/path';
  if (reference.startsWith('file:') && /(^|\/)\.\.?(\/|$)|\0/.test(reference))
    return 'must be an absolute path without . and ..';
  return isAllowed(reference, allowed) ? undefined : 'is not in connections.secrets';
}

function isAllowed(reference: string, allowed: readonly string[]): boolean {
  return allowed.some((one) =>
    one.endsWith('*') ? reference.startsWith(one.slice(0, -1)) : reference === one,
  );
}

/** The present secret of a reference. Throws `unavailable` with the reference, never with the secret. */
export async function secretAt(reference: string, allowed: readonly string[]): Promise<string> {
  const problem = referenceProblem(reference, allowed);
  if (problem !== undefined) throw unreadable(reference, `it ${problem}`);
  const name = reference.slice(reference.indexOf(':') + 1);
  if (reference.startsWith('file:')) return inFile(reference, name, allowed);
  const value = process.env[name];
  if (value === undefined || value === '') throw unreadable(reference, 'the variable is not set');
  return value;
}

/** Links lead no further than what is allowed. */
async function inFile(reference: string, path: string, allowed: readonly string[]): Promise<string> {
  const folders = allowed.filter((one) => one.startsWith('file:')).map((one) => realFolder(one.slice(5)));
  try {
    const real = await realpath(path);
    if (!isAllowed(`file:${real}`, [...allowed, ...(await Promise.all(folders))]))
      throw unreadable(reference, 'the file is a link to another folder');
    const { size } = await stat(real);
    if (size > MAX_BYTES) throw unreadable(reference, 'the file is too large');
    return (await readFile(real, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw unreadable(reference, 'the file cannot be read');
  }
}

/** The folder itself may be behind a link, as those of orchestrators are. */
async function realFolder(pattern: string): Promise<string> {
  const folder = pattern.replace(/[^/]*$/, '');
  const real = await realpath(folder).catch(() => folder.replace(/\/$/, ''));
  return `file:${real}/${pattern.slice(folder.length)}`;
}

function unreadable(reference: string, why: string): ApiError {
  return new ApiError('unavailable', `The secret ${reference} cannot be read: ${why}.`);
}
