import { expect, it } from 'vitest';
import { type ApiError, badMember, badParameter } from '../../../src/core/errors/errors.js';
import {
  nameReceived,
  renameField,
  valueInQuery,
  valueInRequest,
} from '../../../src/gateway/http/requests/received-value.js';

const named = (name: string, detail: string, query: string) =>
  nameReceived(badParameter(name, detail), (one) => valueInQuery(query, one)).message;

it('errors of parameters name the value that was received', () => {
  const detail = 'must be an integer from 1 to 10';
  expect(named('limit', detail, 'LIMIT=abc')).toBe(`limit: ${detail}; received 'abc'.`);
  expect(named('limit', 'is wrong.', 'limit=')).toBe("limit: is wrong; received ''.");
  expect(named('limit', 'is wrong', `limit=${'x'.repeat(99)}`)).toBe(
    `limit: is wrong; received '${'x'.repeat(60)}…'.`,
  );
});

it('once, and never those of secrets', () => {
  expect(named('f', "'abc' is not a format", 'f=abc')).toBe("f: 'abc' is not a format.");
  expect(named('f', 'is wrong; received abc', 'f=abc')).toBe('f: is wrong; received abc.');
  expect(named('token', 'is wrong', 'token=s3cret')).toBe('token: is wrong.');
  expect(named('f', 'is required', '')).toBe('f: is required.');
});

it('a parameter has the name by which it was sent', () => {
  const error = renameField(badParameter('bbox', 'must have four numbers'), 'bbox', 'BBOX');
  expect(error.message).toBe('BBOX: must have four numbers.');
});

it('members of bodies and forms name theirs', () => {
  const x = { query: 'f=json', header: (name: string) => `${name}!`, body: { a: [{ b: 7 }], unit: 'miles' } };
  const message = (error: ApiError) =>
    nameReceived(error, (name) => valueInRequest(x, undefined, name)).message;
  expect(message(badMember('/a/0/b', 'must be below 5'))).toBe('a[0].b: must be below 5; received 7.');
  expect(message(badMember('/a/9/b', 'must be below 5'))).toBe('a[9].b: must be below 5.');
  expect(message(badParameter('unit', 'must be metre'))).toBe("unit: must be metre; received 'miles'.");
  expect(message(badParameter('f', 'must be html'))).toBe("f: must be html; received 'json'.");
});
