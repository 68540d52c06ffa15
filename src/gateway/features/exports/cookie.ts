/**
 * Cookie with the ids of the exports of a browser that is not signed in. All such callers are one principal, and only
 * the one who started a job may see it.
 */

import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import { sitePath } from '../../pages/layout.js';

const NAME = 'graticule-exports';
const MAX_IDS = EXCHANGE_LIMITS.readerFiles + EXCHANGE_LIMITS.readerExportsPerCaller;
const ID = /^[\w-]{1,100}$/;

/** Ids of the exports in a Cookie header, newest first. */
export function readExportIds(header: string | undefined): string[] {
  const [, value = ''] = new RegExp(`(?:^|;\\s*)${NAME}=([^;]*)`).exec(header ?? '') ?? [];
  return value
    .split('.')
    .filter((id) => ID.test(id))
    .slice(0, MAX_IDS);
}

/** `Set-Cookie` that adds an export. */
export function addExportId(baseUrl: string, header: string | undefined, id: string): string {
  const ids = [id, ...readExportIds(header).filter((other) => other !== id)].slice(0, MAX_IDS);
  const age = Math.ceil(EXCHANGE_LIMITS.readerFileMs / 1000);
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  const path = `${sitePath(baseUrl)}${FEATURES_PATH}`;
  return `${NAME}=${ids.join('.')}; Max-Age=${age}; Path=${path}; HttpOnly; SameSite=Lax${secure}`;
}
