import { defineOperation, type Operation } from '../../core/http/operation.js';
import type { SealKeys } from '../../services/access/keys/seal-keys.js';

const SEAL_KEYS_PATH = '/.well-known/seal-keys.json';

/** The public keys of seals, which verify proposals, approvals and receipts without the server. */
export function sealKeysOperation(keys: Pick<SealKeys, 'published'>): Operation {
  return defineOperation({
    surface: 'site',
    protocol: 'Site',
    tag: 'Account',
    permission: 'public',
    formats: [],
    method: 'GET',
    id: 'operate.sealKeys',
    path: SEAL_KEYS_PATH,
    summary: 'List the public keys of seals',
    params: {},
    responses: { 200: { description: 'A JWK set (RFC 7517).', content: { 'application/json': null } } },
    async run() {
      const body = JSON.stringify({ keys: await keys.published() });
      return { status: 200, mediaType: 'application/json', body, cacheControl: 'public, max-age=300' };
    },
  });
}
