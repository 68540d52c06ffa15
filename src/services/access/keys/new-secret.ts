import { randomBytes } from 'node:crypto';

/** Characters of every mark, such as `grt_`. */
const MARK_LENGTH = 4;
/** Characters of a secret that are shown: the mark, and 48 of 256 random bits. */
const PREFIX_LENGTH = MARK_LENGTH + 8;

/** A new secret that starts with `mark`, and the part of it that is shown later. */
export function createSecret(mark: string): { readonly secret: string; readonly prefix: string } {
  const secret = mark + randomBytes(32).toString('base64url');
  return { secret, prefix: secret.slice(0, PREFIX_LENGTH) };
}
