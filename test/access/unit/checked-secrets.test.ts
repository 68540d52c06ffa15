import { expect, it } from 'vitest';
import type { Principal } from '../../../src/core/http/operation.js';
import { CheckedSecrets, type SecretHolder } from '../../../src/gateway/auth/checked-secrets.js';

const holder = (id: string): SecretHolder => ({
  principal: { kind: 'user', id, permissions: [] } as unknown as Principal,
  expiresAt: null,
});

it('an answer that was on its way when its secret was forgotten is not kept beside a later one', async () => {
  const secrets = new CheckedSecrets({ trustMs: 60_000, lostTrustMs: 60_000 }, () => {});
  const answers: ((found: SecretHolder | undefined) => void)[] = [];
  const lookUp = () => new Promise<SecretHolder | undefined>((resolve) => answers.push(resolve));
  const first = secrets.check('hash', lookUp);
  secrets.forgetAll();
  const second = secrets.check('hash', lookUp);
  expect(answers).toHaveLength(2);
  // The first answer comes while the second question is open.
  answers[0]!(holder('old'));
  expect(await first).toMatchObject({ id: 'old' });
  const third = secrets.check('hash', lookUp);
  expect(answers).toHaveLength(2);
  answers[1]!(holder('new'));
  expect([await second, await third]).toMatchObject([{ id: 'new' }, { id: 'new' }]);
  expect(secrets.check('hash', lookUp)).toMatchObject({ id: 'new' });
});
