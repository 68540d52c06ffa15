import { expect, it } from 'vitest';
import { badParameter } from '../../../src/core/errors/errors.js';
import { nameReceived, valueInQuery } from '../../../src/gateway/http/requests/received-value.js';

const named = (name: string, detail: string, query: string) => {
  const { message, errors } = nameReceived(badParameter(name, detail), (one) => valueInQuery(query, one));
  return [message, errors![0]!.detail];
};

it('errors of parameters name the value that was received', () => {
  const detail = "must be an integer from 1 to 10; received 'abc'";
  expect(named('limit', 'must be an integer from 1 to 10', 'LIMIT=abc')).toEqual([
    `limit: ${detail}`,
    detail,
  ]);
  expect(named('limit', 'is wrong.', 'limit=')[1]).toBe("is wrong; received ''");
  expect(named('limit', 'is wrong', `limit=${'x'.repeat(99)}`)[1]).toBe(
    `is wrong; received '${'x'.repeat(60)}…'`,
  );
});

it('once, and never those of secrets', () => {
  expect(named('f', "'abc' is not a format", 'f=abc')[1]).toBe("'abc' is not a format");
  expect(named('f', 'is wrong; received abc', 'f=abc')[1]).toBe('is wrong; received abc');
  expect(named('token', 'is wrong', 'token=s3cret')[1]).toBe('is wrong');
  expect(named('f', 'is required', '')[1]).toBe('is required');
});
