import { expect, it } from 'vitest';
import { RequestRecords, SLOW_REQUEST_MS } from '../../../src/services/observability/request-records.js';

type Answer = (input: unknown) => unknown;

/** Records of two processes that reach each other. */
function startRecords(): RequestRecords[] {
  const answers: Answer[] = [];
  const peers = {
    answer: (_topic: string, answer: Answer) => void answers.push(answer),
    gather: async (_topic: string, input: unknown) => ({
      answers: await Promise.all(answers.map((answer) => answer(input))),
      missing: [],
    }),
  };
  return ['a', 'b'].map((name) => new RequestRecords(name, peers as never));
}

const newRequest = (requestId: string, durationMs: number, isKeyed: boolean, path = '/tiles') => ({
  ...{ requestId, durationMs, isKeyed, path, traceId: undefined, method: 'GET', operation: 'tiles.get' },
  ...{ protocol: 'OGC-Tiles', statusCode: 200, bytes: 10, actor: 'someone', tasks: [], stages: [] },
});

it('a flood of a class of requests removes no request of another class', async () => {
  const [a, b] = startRecords();
  a!.note(newRequest('slow-keyed', SLOW_REQUEST_MS, true));
  a!.note(newRequest('quick-keyed', 1, true));
  for (let i = 0; i < 2000; i++) a!.note(newRequest(`flood-${i}`, SLOW_REQUEST_MS + 1, false));
  expect((await b!.find('slow-keyed')).items).toMatchObject([{ instance: 'a', requestId: 'slow-keyed' }]);
  expect((await b!.find('quick-keyed')).items).toHaveLength(1);
  expect((await b!.list(0)).items).toHaveLength(202);
  expect((await b!.list(SLOW_REQUEST_MS)).items).toHaveLength(201);
  expect((await b!.list(SLOW_REQUEST_MS + 1)).items.map(({ requestId }) => requestId)).not.toContain(
    'slow-keyed',
  );
});

it('requests without a key are kept only if they are slow', () => {
  const [records] = startRecords();
  expect(records!.keeps({ durationMs: SLOW_REQUEST_MS - 1, isKeyed: false, hasStages: true })).toBe(false);
  expect(records!.keeps({ durationMs: SLOW_REQUEST_MS, isKeyed: false, hasStages: false })).toBe(true);
  expect(records!.keeps({ durationMs: 1, isKeyed: true, hasStages: false })).toBe(false);
  expect(records!.keeps({ durationMs: 1, isKeyed: true, hasStages: true })).toBe(true);
});

it('long paths are shortened', async () => {
  const [records] = startRecords();
  records!.note(newRequest('long', 1, true, `/${'x'.repeat(60_000)}`));
  const [found] = (await records!.find('long')).items;
  expect(found!.path).toHaveLength(500);
});
