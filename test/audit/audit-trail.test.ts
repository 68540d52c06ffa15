import { expect, it } from 'vitest';
import { ApiError } from '../../src/core/errors/errors.js';
import { auditTrail } from '../../src/gateway/audit/admin/audit-trail.js';

/** The trail of a server whose disk is full: neither the state nor the data folder takes a row. */
function fullTrail() {
  const refuse = () => Promise.reject(new Error('database or disk is full'));
  const errors: unknown[] = [];
  const trail = auditTrail({
    state: { audit: { append: refuse } } as never,
    backlog: { isEmpty: true, keep: refuse, drain: async () => {} },
    onError: (error) => errors.push(error),
  });
  return { trail, errors };
}

function request(surface: 'admin' | 'features') {
  return {
    operation: { id: 'x', method: 'POST', path: '/x', surface, responses: { 201: {} } },
    ...{ path: '/x', principal: { id: 'a', kind: 'api-key' }, correlationId: 'c', remoteIp: '127.0.0.1' },
  } as never;
}

it.each(['admin', 'features'] as const)(
  'a failed request keeps its answer when its row cannot be written (%s)',
  async (surface) => {
    const { trail, errors } = fullTrail();
    const failure = new ApiError('not-found', 'There is no collection.');
    await expect(trail.run(request(surface), () => Promise.reject(failure))).rejects.toBe(failure);
    const reply = { status: 409, body: '' } as never;
    expect(await trail.run(request(surface), async () => reply)).toBe(reply);
    expect(errors).not.toEqual([]);
  },
);

it('a change that was made and cannot be recorded is said to be made', async () => {
  const { trail } = fullTrail();
  const made = trail.run(request('features'), async () => ({ status: 201, body: '' }) as never);
  await expect(made).rejects.toMatchObject({ code: 'outcome-unknown' });
});

it.each([
  ['api-key', 'unavailable'],
  ['anonymous', undefined],
])('an export of a caller of the kind %s that cannot be recorded is %s', async (kind, code) => {
  const { trail, errors } = fullTrail();
  const asked = {
    operation: { id: 'x', method: 'GET', path: '/x', surface: 'features', exports: true, responses: {} },
    ...{ path: '/x', principal: { id: 'a', kind }, correlationId: 'c', remoteIp: '127.0.0.1' },
  } as never;
  const reply = { status: 200, body: 'data' } as never;
  const sent = trail.run(asked, async () => reply);
  if (code !== undefined) return expect(sent).rejects.toMatchObject({ code });
  expect(await sent).toBe(reply);
  expect(errors.length).toBe(1);
});
