import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { Principal } from '../../../core/http/operation.js';
import { boundedCache } from '../../../core/values/bounded-cache.js';
import type { JobCaller } from '../../access/identity/submitter.js';
import type { PresentRights } from '../../access/rules/present-rights.js';
import type { AuthorView } from './active-rules.js';

/** Milliseconds for which the rights of an author count as present. */
const PRESENT_MS = 2000;
const MOST_AUTHORS = 1000;

export interface AuthorViewsDeps {
  readonly presentRights: Pick<PresentRights, 'of'>;
  visible(principal: Principal): CatalogSnapshot;
}

/** Returns the function that gives the catalog as the authors of rules can read it now. */
export function createAuthorViews({ presentRights, visible }: AuthorViewsDeps): AuthorView {
  const known = boundedCache<string, { principal: Principal | undefined; at: number }>(MOST_AUTHORS);
  const find = async (author: string): Promise<Principal | undefined> => {
    const { principal } = JSON.parse(author) as JobCaller;
    try {
      return await presentRights.of(principal);
    } catch (error) {
      if (error instanceof ApiError) return undefined;
      throw error;
    }
  };
  return async ({ author_json: author }) => {
    let one = known.get(author);
    if (!one || performance.now() - one.at > PRESENT_MS) {
      one = { principal: await find(author), at: performance.now() };
      known.set(author, one);
    }
    return one.principal && visible(one.principal);
  };
}
