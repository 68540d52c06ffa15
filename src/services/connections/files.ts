import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import type { ConnectionHealth } from './probe.js';

/** Whether the server can read a file or folder, and what keeps it from that. */
export async function filesHealth(path: string): Promise<ConnectionHealth> {
  try {
    const info = await stat(path);
    if (!info.isDirectory()) {
      await access(path, constants.R_OK);
      return { isHealthy: true, reason: 'ok', message: `The file can be read, ${info.size} bytes.` };
    }
    const { length } = await readdir(path);
    const entries = `${length} ${length === 1 ? 'entry' : 'entries'}`;
    return { isHealthy: true, reason: 'ok', message: `The folder can be read, ${entries}.` };
  } catch (error) {
    return failure((error as NodeJS.ErrnoException).code, path);
  }
}

function failure(code = 'unknown', path: string): ConnectionHealth {
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return { isHealthy: false, reason: 'missing', message: `${path} does not exist.` };
  if (code === 'EACCES' || code === 'EPERM')
    return { isHealthy: false, reason: 'rights', message: `The server may not read ${path}.` };
  return { isHealthy: false, reason: 'other', message: `${path} cannot be read (${code}).` };
}
