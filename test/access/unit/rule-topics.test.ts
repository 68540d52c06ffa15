import { beforeEach, expect, it } from 'vitest';
import { Users } from '../../../src/services/access/identity/users.js';
import { StateCipher } from '../../../src/services/access/keys/state-cipher.js';
import {
  AccessRules,
  type AccessSubjects,
  givesRights,
  isRule,
} from '../../../src/services/access/rules/rules.js';
import type { StoredUser } from '../../../src/stores/access/users.js';
import type { DocumentStore } from '../../../src/stores/state/documents.js';

/** A change of access is loaded by what it is about, and told to those whom it concerns. */

let listed: string[];
let take: (subjects: AccessSubjects) => Promise<void>;
let rules: AccessRules;
let told: string[];

beforeEach(async () => {
  listed = [];
  told = [];
  const documents = {
    list: async (kind: string) => {
      listed.push(kind);
      return [];
    },
  } as unknown as DocumentStore;
  const announcements = { on: (_: string, taker: unknown) => void (take = taker as typeof take) };
  rules = new AccessRules(documents, announcements, new StateCipher(''));
  rules.loadWith(
    async () => void told.push('limits loaded'),
    (kind) => kind === 'rate limit policy',
  );
  rules.follow(() => told.push('collections judged'), isRule);
  rules.follow(
    () => told.push('secrets forgotten'),
    (kind) => kind !== 'rate limit policy' && givesRights(kind),
  );
  await rules.load();
  [listed, told] = [[], []];
});

it.each([
  ['rate limit policy', ['limits loaded']],
  ['row-level policy', ['collections judged']],
  ['field mask policy', ['collections judged']],
  ['role', ['collections judged', 'secrets forgotten']],
  ['user', ['secrets forgotten']],
  ['tenant', ['secrets forgotten']],
])('a %s', async (kind, expected) => {
  const { version } = rules.current;
  await take([{ kind, id: '1' }]);
  expect(told).toEqual(expected);
  // Only rules are read again for rules, and views of the catalog are kept otherwise.
  expect(listed.length > 0).toBe(isRule(kind));
  expect(rules.current.version).toBe(version + (isRule(kind) ? 1 : 0));
});

it('changes of which too much was missed', async () => {
  await take('all');
  expect(told).toEqual(['limits loaded', 'collections judged', 'secrets forgotten']);
});

it('a right password is remembered as long as its hash is stored, and no longer', async () => {
  const stored = { id: '1', isActive: true, failures: 0, lockedUntil: 0 } as StoredUser;
  let user = stored;
  const store = {
    add: async (added: StoredUser) => void (user = { ...stored, passwordHash: added.passwordHash }),
    byName: async () => user,
    get: async () => user,
    countFailure: async () => {},
  };
  const users = new Users(store as never, {} as never, async () => {});
  await users.create({ name: 'ada', password: 'correct horse battery' }, 'system');
  const expectRight = async (password: string, isRight: boolean) =>
    expect((await users.withPassword('ada', password, '')) !== undefined).toBe(isRight);
  await expectRight('correct horse battery', true);
  await expectRight('correct horse battery', true);
  await expectRight('wrong horse battery', false);
  // Another password makes the first one wrong at once.
  const other = new Users(store as never, {} as never, async () => {});
  await other.create({ name: 'ada', password: 'another horse battery' }, 'system');
  await expectRight('correct horse battery', false);
  await expectRight('another horse battery', true);
  user = { ...user, lockedUntil: Date.now() + 60_000 };
  await expectRight('another horse battery', false);
});
