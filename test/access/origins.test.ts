import { afterEach, beforeEach, expect, it } from 'vitest';
import { MAPPING_KIND } from '../../src/services/access/certificates/trust.js';
import { OAuthClients } from '../../src/services/access/identity/oauth-clients.js';
import { Users } from '../../src/services/access/identity/users.js';
import { ApiKeys } from '../../src/services/access/keys/api-keys.js';
import { sharesOrigin } from '../../src/services/access/origins.js';
import { describeStates, type TemporaryState } from '../support/state.js';

describeStates('callers', (open) => {
  let temporary: TemporaryState;
  beforeEach(async () => {
    temporary = await open();
  });
  afterEach(() => temporary.close());

  it('are the same person if one made the other, or the same person made both', async () => {
    const { state } = temporary;
    const settle = async () => {};
    const keys = new ApiKeys(state.apiKeys, settle);
    const users = new Users(state.users, state.sessions, settle);
    const clients = new OAuthClients(state.documents, settle);
    const key = async (by: string) =>
      `api-key:${(await keys.create({ name: 'k', permissions: [] }, by)).key.id}`;
    const user = async (name: string, by: string) => `user:${(await users.create({ name }, by)).id}`;
    const client = async (by: string) => {
      const about = {
        name: 'c',
        clientType: 'public',
        allowedGrantTypes: [],
        allowedScopes: [],
        redirectUris: [],
      };
      return `oauth-client:${(await clients.create({ ...about, expiresAt: null } as never, by)).client.id}`;
    };
    await keys.ensureFirst('a first key of the server 123456');
    const first = `api-key:${(await state.apiKeys.list())[0]!.id}`;
    const ann = await key(first);
    const annsRobot = await key(ann);
    const annsOther = await client(annsRobot);
    const annsPerson = await user('ann-two', ann);
    const bob = await key(first);
    const boss = await user('boss', first);
    const clerk = await user('clerk', boss);
    const otherClerk = await user('other', boss);
    const clerksKey = await key(clerk);

    const shares = (decider: string, author: string) => sharesOrigin(decider, author, state);
    for (const [decider, author] of [
      [ann, ann],
      [annsRobot, ann],
      [ann, annsRobot],
      [annsOther, annsRobot],
      [annsOther, ann],
      [annsPerson, ann],
      [ann, first],
      [boss, first],
      [clerk, boss],
      [clerksKey, clerk],
      [clerk, clerksKey],
      [clerksKey, boss],
    ] as const)
      expect([decider, author, await shares(decider, author)]).toEqual([decider, author, true]);
    for (const [decider, author] of [
      [bob, ann],
      [ann, bob],
      [bob, annsOther],
      [boss, ann],
      [first, ann],
      [first, annsRobot],
      [otherClerk, clerk],
      [otherClerk, clerksKey],
      [boss, clerk],
      [bob, 'user:gone'],
      ['api-key:gone', ann],
    ] as const)
      expect([decider, author, await shares(decider, author)]).toEqual([decider, author, false]);
  });

  it('with a certificate are those who its mapping belongs to', async () => {
    const { state } = temporary;
    const mapping = { profileId: 'p', principalId: 'robot', displayName: 'r', roles: [], tenantId: null };
    await state.documents.create(MAPPING_KIND, 'm', mapping, 'api-key:ann');
    expect(await sharesOrigin('certificate:robot', 'api-key:ann', state)).toBe(true);
    expect(await sharesOrigin('certificate:robot', 'api-key:bob', state)).toBe(false);
  });
});
