import { createHmac } from 'node:crypto';

/** HMAC-SHA-256 of a digest, by the key of the environment; null without one. */
export function computeSignature(digest: string, key: string): string | null {
  if (key === '') return null;
  return `hmac-sha256:${createHmac('sha256', key).update(digest).digest('hex')}`;
}
