import { ApiError, type ErrorCode } from '../../core/errors/errors.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { ifMatchTags } from '../http/replies/entity-tag.js';
import { parseTagState } from './entity-tags.js';

/** Reads the entity tag of the resource that a request changes. Throws `not-found` without the resource. */
export type TagReader = (x: Exchange) => Promise<string | undefined>;

/** The stored states whose tags If-Match names; undefined without the header and for `*`. */
export function readIfMatch(x: Pick<Exchange, 'header'>): readonly string[] | undefined {
  const tags = ifMatchTags(x.header('if-match') ?? '*');
  return tags === '*' ? undefined : tags.map(parseTagState);
}

/** Throws `code` for a request whose If-Match names another state of the resource than the present one. */
export async function requireMatch(
  x: Exchange,
  readTag: TagReader | undefined,
  code: ErrorCode = 'precondition-failed',
): Promise<void> {
  if (x.header('if-match') === undefined) return;
  const allowed = readIfMatch(x);
  const tag = await readTag?.(x);
  if (allowed === undefined || (tag !== undefined && allowed.includes(parseTagState(tag)))) return;
  const now =
    tag === undefined
      ? 'this resource has no entity tag. Send the request without If-Match'
      : `the resource has changed since it was read; its entity tag is now "${tag}". Read it again and repeat the change`;
  throw new ApiError(code, `If-Match: ${now}. Read the current version and retry with its ETag.`);
}

/** Requires If-Match. Throws `precondition-required` without it, and `conflict` if it names another state. */
export async function requireTag(x: Exchange, readTag: TagReader | undefined): Promise<void> {
  if (x.header('if-match') === undefined)
    throw new ApiError(
      'precondition-required',
      'The header If-Match is missing. Read the resource, and send its ETag in If-Match.',
    );
  await requireMatch(x, readTag, 'conflict');
}

/** Runs work on the same resource one after the other, so that no other change comes between a check and its change. */
export class ResourceTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run(resource: string, work: () => Promise<Reply>): Promise<Reply> {
    const before = this.#last.get(resource);
    const mine = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#last.set(resource, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(resource) === mine) this.#last.delete(resource);
    }
  }
}
