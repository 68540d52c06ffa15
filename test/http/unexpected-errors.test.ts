import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exceptionText } from '../../src/core/errors/exception-text.js';
import { TaskFailure } from '../../src/core/errors/failure.js';
import { defineOperation, type Exchange } from '../../src/core/http/operation.js';
import type { HttpServer } from '../../src/gateway/http/server.js';
import type { Properties } from '../../src/services/telemetry/log.js';
import { applicationErrors } from '../../src/services/telemetry/metrics.js';
import type { VectorPool as VectorPoolOf } from '../../src/workers/pools/vector/pool.js';
import { failureFrom, failureMessage } from '../../src/workers/threads/failure.js';
import { raw } from '../e2e/support/http.js';
import { suiteEngine } from '../engine/support.js';
import { serverOf } from './support.js';

describe('what the log says of what was thrown', () => {
  it('is the stack of each error in the chain of causes', () => {
    const inner = new TypeError('the inner one');
    const outer = new Error('the outer one', { cause: new Error('between', { cause: inner }) });
    const text = exceptionText(outer);
    expect(text).toMatch(
      /^Error: the outer one\n +at .*unexpected-errors\.test[\s\S]*caused by: Error: between\n[\s\S]*caused by: TypeError: the inner one\n +at /,
    );
  });

  it.each([
    ['text', 'just text', /^just text \(thrown, and no error\)/],
    ['nothing', undefined, /^$/],
    ['null', null, /^$/],
    ['an object without text', Object.create(null), /without text/],
    [
      'several',
      new AggregateError([new RangeError('one of them')], 'all failed'),
      /all failed[\s\S]*RangeError: one of them/,
    ],
  ])('is said for %s too', (_, thrown, expected) => expect(exceptionText(thrown)).toMatch(expected));

  it('has an end, for a chain without one and for a long message', () => {
    const circle = new Error('round');
    circle.cause = circle;
    expect(exceptionText(circle).split('caused by').length).toBe(8);
    expect(exceptionText(new Error('x'.repeat(100_000))).length).toBe(16_384);
  });

  it('keeps the stack of the thread that it happened in', () => {
    const there = (error: unknown) => failureFrom(structuredClone(failureMessage(error)));
    expect(exceptionText(there(new RangeError('in a worker', { cause: new Error('below') })))).toMatch(
      /caused by: RangeError: in a worker\n +at [\s\S]*caused by: Error: below\n/,
    );
    expect(exceptionText(there(new TaskFailure('internal', 'could not be done')))).toMatch(
      /caused by: TaskFailure: could not be done\n +at /,
    );
    // What has a meaning of its own needs no stack.
    expect(failureMessage(new TaskFailure('no-data', 'There is none.'))).toEqual({
      code: 'no-data',
      message: 'There is none.',
    });
  });
});

describe('a request that fails unexpectedly', () => {
  const lines: [string, Properties | undefined][] = [];
  const ended: string[] = [];
  let server: HttpServer;
  let url: string;

  beforeAll(async () => {
    const failing = (name: string, run: (x: Exchange) => never) =>
      defineOperation({
        id: `test.${name}`,
        method: 'GET',
        path: `/${name}`,
        surface: 'site',
        protocol: 'Site',
        summary: 'Fails',
        permission: 'public',
        responses: {},
        run: async (x) => run(x),
      });
    const operations = [
      failing('here', () => {
        throw new TypeError('the secret reason', { cause: new Error('the secret cause') });
      }),
      failing('worker', () => {
        throw failureFrom(failureMessage(new RangeError('the secret of a worker')));
      }),
      failing('text', () => {
        throw 'the secret text';
      }),
      failing('busy', () => {
        throw new TaskFailure('queue-full', 'The server is busy.');
      }),
      failing('parts', ({ signal }) => {
        signal.addEventListener('abort', () => void ended.push('the other part'));
        throw new TaskFailure('queue-full', 'The server is busy.');
      }),
    ];
    server = serverOf(operations, { write: (event, properties) => void lines.push([event, properties]) });
    url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  });
  afterAll(() => server?.close(0));

  it.each([
    ['here', /^TypeError: the secret reason\n +at [\s\S]*caused by: Error: the secret cause\n/],
    ['worker', /caused by: RangeError: the secret of a worker\n +at /],
    ['text', /^the secret text/],
  ])(
    'is logged with its stack and the id of the request, and tells the client neither: %s',
    async (name, stack) => {
      lines.length = 0;
      const answer = await raw(`${url}/${name}`, { headers: { 'x-request-id': `id-of-${name}` } });
      expect(answer.status).toBe(500);
      const body = answer.body.toString();
      expect(JSON.parse(body)).toMatchObject({ correlationId: `id-of-${name}` });
      expect(body + JSON.stringify(answer.headers)).not.toMatch(/secret|\bat /);
      expect(lines).toEqual([
        [
          'http.request.failed',
          {
            CorrelationId: `id-of-${name}`,
            Operation: `test.${name}`,
            Path: `/${name}`,
            Code: 'internal',
            StatusCode: 500,
            '@x': expect.stringMatching(stack),
          },
        ],
      ]);
    },
  );

  it('is counted by its type, operation and kind of service', async () => {
    const failures = applicationErrors.cell('TypeError', 'here', 'Generic');
    const before = failures.value;
    await raw(`${url}/here`);
    expect(failures.value).toBe(before + 1);
  });

  it('is not taken for one when the server is only busy', async () => {
    lines.length = 0;
    expect((await raw(`${url}/busy`)).status).toBe(503);
    expect(lines[0]![1]).not.toHaveProperty('@x');
    const failed = applicationErrors.samples().map(({ labels }) => labels['operation']);
    expect(failed).not.toContain('busy');
  });

  it('ends the other parts of the work', async () => {
    expect((await raw(`${url}/parts`)).status).toBe(503);
    expect(ended).toEqual(['the other part']);
  });
});

describe('what fails unexpectedly in another thread or process', () => {
  const suite = suiteEngine();
  const stackOf = (run: Promise<unknown>) =>
    run.then(
      () => 'it did not fail',
      (failure: unknown) => exceptionText(failure),
    );

  it('comes with the stack of a thread of the vector pool', async () => {
    // As it is built: a thread cannot begin with TypeScript.
    const { VectorPool } = (await import('../../dist/workers/pools/vector/pool.js' as string)) as {
      VectorPool: typeof VectorPoolOf;
    };
    const pool = new VectorPool({ threads: 1, maxQueue: 1, maxWaitMs: 60_000, connections: 1 });
    const stack = await stackOf(pool.run('vector.styleProblems', { json: undefined } as never));
    await pool.close();
    expect(stack).toMatch(/caused by: SyntaxError: [\s\S]*\n +at /);
  });

  it('comes with the stack of an engine', async () => {
    const stack = await stackOf(suite.pool.run('raster.inspect', { source: undefined } as never, {}));
    expect(stack).toMatch(/caused by: TypeError: [\s\S]*\n +at .*(?:workers\/|dist\/shared)/);
  });
});
