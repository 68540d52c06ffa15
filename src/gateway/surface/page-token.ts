import { badParameter } from '../../core/errors/errors.js';
import type { PageKey } from '../../core/features/features.js';

/**
 * Position at which a `next` or `prev` link continues. It is opaque to clients, so that its form may change. It
 * contains a direction and the sort keys of one feature, which a client could request anyway, so it needs no
 * signature.
 */
export interface PageToken {
  direction: 'after' | 'before';
  key: PageKey;
}

const MAX_LENGTH = 4096;

export function writeToken({ direction, key }: PageToken): string {
  const text = JSON.stringify([direction === 'after' ? 1 : 0, key.id, ...key.values]);
  return Buffer.from(text).toString('base64url');
}

/** Throws 400 for anything that `writeToken` did not write for a listing of as many sort keys. */
export function readToken(text: string, sortKeys: number): PageToken {
  const parts = text.length <= MAX_LENGTH ? decoded(text) : undefined;
  if (!parts || parts.length !== sortKeys + 2) throw wrongToken();
  const [direction, id, ...values] = parts;
  if ((direction !== 0 && direction !== 1) || typeof id !== 'string') throw wrongToken();
  if (!values.every(isKeyValue)) throw wrongToken();
  return {
    direction: direction === 1 ? 'after' : 'before',
    key: { id, values: values as PageKey['values'] },
  };
}

function decoded(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isKeyValue(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function wrongToken() {
  return badParameter(
    'token',
    'must be a token of a next or prev link of this listing. Follow the link unchanged',
  );
}
