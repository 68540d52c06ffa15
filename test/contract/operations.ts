import { readFileSync } from 'node:fs';

/** One operation of the management API as the interface contract lists it. */
export interface ContractOperation {
  group: string;
  method: string;
  /** Below /api/v1/admin. */
  path: string;
  summary: string;
}

/** Reads operations.txt: `# Group` headings, then `METHOD /path — Summary` lines. */
export function contractOperations(): ContractOperation[] {
  const found: ContractOperation[] = [];
  let group = '';
  for (const line of readFileSync(new URL('operations.txt', import.meta.url), 'utf8').split('\n')) {
    if (line.startsWith('# ')) group = line.slice(2);
    const match = /^([A-Z]+) (\/\S+) — (.+)$/.exec(line);
    if (match) found.push({ group, method: match[1]!, path: match[2]!, summary: match[3]! });
  }
  return found;
}

/** What leads to a session, or tells of one: nobody needs credentials for it (§35 of the wire). */
export const OPEN: ReadonlySet<string> = new Set([
  'GET /auth/config',
  'GET /auth/session',
  'POST /auth/bearer',
  'POST /auth/logout',
  'POST /auth/providers/{providerKey}/authorize-url',
  'POST /auth/providers/{providerKey}/token',
  'GET /auth/providers/{providerKey}/logout-url',
]);
