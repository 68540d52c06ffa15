import type { State } from '../../stores/state/state.js';
import { MAPPING_KIND } from './certificates/trust.js';
import { CLIENT_KIND } from './identity/oauth-clients.js';

type Stores = Pick<State, 'apiKeys' | 'documents' | 'users'>;
type Find = (id: string, stores: Stores) => Promise<string | null | undefined>;

/** Creators of credentials, in the notation of `formatActor`. The first keys of a server have no such creator. */
const CREATORS: Readonly<Record<string, Find>> = {
  'api-key': async (id, { apiKeys }) => (await apiKeys.get(id))?.createdBy,
  user: async (id, { users }) => (await users.get(id))?.createdBy,
  'oauth-client': async (id, { documents }) => (await documents.get(CLIENT_KIND, id))?.createdBy,
  async certificate(id, { documents }) {
    const mappings = await documents.list<{ principalId: string }>(MAPPING_KIND);
    return mappings.find(({ body }) => body.principalId === id)?.createdBy;
  },
};
const MAX_LENGTH = 100;

/**
 * Whether two callers can be the same person: the author made the credential of the decider, or the same person made
 * both. Then the decision of one about the work of the other is not independent. The first key of a server
 * makes the keys of several people, so it links only itself with what it made. Users are different people.
 */
export async function sharesOrigin(decider: string, author: string, stores: Stores): Promise<boolean> {
  const [deciding, writing] = await Promise.all([listOrigins(decider, stores), listOrigins(author, stores)]);
  return deciding.includes(author) || findRoot(deciding) === findRoot(writing);
}

/** The caller, the one who created its credential, and so on to the first key or a user without a creator. */
async function listOrigins(actor: string, stores: Stores): Promise<string[]> {
  const chain: string[] = [];
  let next: string | null | undefined = actor;
  // `system` and `environment`, which create the first keys, are not callers.
  while (next?.includes(':') && !chain.includes(next) && chain.length < MAX_LENGTH) {
    chain.push(next);
    next = await findCreator(next, stores);
  }
  return chain;
}

async function findCreator(actor: string, stores: Stores): Promise<string | null | undefined> {
  const cut = actor.indexOf(':');
  return CREATORS[actor.slice(0, cut)]?.(actor.slice(cut + 1), stores);
}

/** The person behind a chain: its first user, or else what the first key of the server made. */
function findRoot(chain: readonly string[]): string {
  return chain.find((actor) => actor.startsWith('user:')) ?? chain.at(-2) ?? chain[0]!;
}
