import { expect, it } from 'vitest';
import { ANONYMOUS } from '../../../src/core/http/operation.js';
import { requestCaller } from '../../../src/services/access/identity/request-caller.js';

it('names a principal by its kind and id', () => {
  const principal = { ...ANONYMOUS, kind: 'api-key', id: '7' } as const;
  expect(requestCaller(principal, '192.0.2.1')).toEqual({ class: 'keyed', id: 'api-key:7' });
});

it('names callers without a key by their network, and those with the public key of an embedded map too', () => {
  expect(requestCaller(ANONYMOUS, '192.0.2.1')).toEqual({ class: 'anonymous', id: '192.0.2.1' });
  const embedded = { ...ANONYMOUS, kind: 'embed-key', id: 'e' } as const;
  expect(requestCaller(embedded, '2001:db8::1')).toEqual(requestCaller(ANONYMOUS, '2001:db8::2'));
});
