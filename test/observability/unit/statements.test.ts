import { describe, expect, it } from 'vitest';
import {
  countDuration,
  emptyDurations,
  estimateQuantile,
} from '../../../src/core/observability/durations.js';
import { parameterize } from '../../../src/core/observability/statement-text.js';
import { joinStatements, StatementRecorder } from '../../../src/core/observability/statements.js';
import { inTaskScope, TaskScope } from '../../../src/core/observability/task-scope.js';

const SECRET = 'S3cret-4711';

describe('the text of a statement', () => {
  it.each([
    ["SELECT * FROM t WHERE a = 'S3cret-4711'", 'SELECT * FROM t WHERE a = ?'],
    ["SELECT 'it''s S3cret-4711' FROM t", 'SELECT ? FROM t'],
    ["SELECT E'a\\'S3cret-4711' FROM t", 'SELECT ? FROM t'],
    ['SELECT $$S3cret-4711$$, $x$S3cret-4711 $$ $x$ FROM t', 'SELECT ?, ? FROM t'],
    [
      "SELECT x'53', 4711, 1.5e-3 FROM t1 WHERE a < .5 AND b > 0x1F",
      'SELECT ?, ?, ? FROM t1 WHERE a < ? AND b > ?',
    ],
    ['SELECT a -- S3cret-4711\nFROM t /* S3cret-4711 */', 'SELECT a FROM t'],
    ["SELECT 'S3cret-4711", 'SELECT ?'],
    ["COPY t FROM STDIN WITH (NULL 'S3cret-4711')", 'COPY t FROM STDIN WITH (NULL ?)'],
    ["DO $b$ BEGIN RAISE 'S3cret-4711'; END $b$", 'DO ?'],
    ["PREPARE s1 AS SELECT 'S3cret-4711', $1", 'PREPARE s1 AS SELECT ?, $1'],
    ["SELECT N'S3cret-4711', U&'S3cret-4711', B'101'", 'SELECT ?, ?, ?'],
  ])('%s', (sql, text) => {
    expect(parameterize(sql)).toBe(text);
  });

  it('keeps parameters, casts and identifiers', () => {
    const text = 'SELECT "a 1"."b""2", c3 FROM t WHERE x = $12::int8 AND y = ?3 AND z = :name';
    expect(parameterize(text)).toBe(text);
  });

  it('is the same for lists of any length', () => {
    const list = (n: number) =>
      `SELECT a FROM t WHERE b IN (${Array.from({ length: n }, () => '?').join(', ')})`;
    expect(parameterize(list(4))).toBe(parameterize(list(400)));
    expect(parameterize(list(1))).not.toBe(parameterize(list(4)));
  });

  it('ends in time for long and unbalanced texts', () => {
    const text = parameterize(`SELECT ${"'".repeat(200_001)}${'$a$'.repeat(50_000)}${'/*'.repeat(50_000)}`);
    expect(text.length).toBeLessThanOrEqual(4000);
  });
});

describe('the recorder of statements', () => {
  const count = (recorder: StatementRecorder) =>
    recorder.report().texts.reduce((sum, { count: n }) => sum + n, 0);

  it('counts each text, task and duration once', async () => {
    const recorder = new StatementRecorder();
    const task = new TaskScope('vector.items', 'r-1');
    await inTaskScope(task, async () => {
      recorder.ended(recorder.find('sqlite', 'SELECT 1'), 20, { reused: false });
      recorder.ended(recorder.find('sqlite', 'SELECT 2'), 30, { reused: true });
    });
    recorder.ended(recorder.find('state', 'begin'), 1);
    const { texts, tasks, durations } = recorder.report();
    expect(texts.map(({ store, text, count: n, hits, misses }) => [store, text, n, hits, misses])).toEqual([
      ['sqlite', 'SELECT ?', 2, 1, 1],
      ['state', 'begin', 1, 0, 0],
    ]);
    expect(tasks['vector.items']).toEqual({ count: 2, failed: 0, slow: 0, totalMs: 50, maxMs: 30 });
    expect(tasks['state']?.count).toBe(1);
    expect(durations.reduce((sum, n) => sum + n, 0)).toBe(3);
    expect(task.databaseMs).toBe(50);
  });

  it('lists slow statements with their request, without texts of errors', async () => {
    const recorder = new StatementRecorder();
    const error = Object.assign(new Error(`duplicate key ${SECRET}`), { code: '23505' });
    await inTaskScope(new TaskScope('vector.edit', 'r-2'), async () => {
      recorder.ended(recorder.find('postgres', `SELECT '${SECRET}'`), 249.9);
      recorder.ended(recorder.find('postgres', `SELECT '${SECRET}'`), 250, { error, rows: 3 });
      recorder.ended(recorder.find('postgres', 'SELECT a'), 300, { error: { code: SECRET } });
    });
    const { slow } = recorder.report();
    expect(
      slow.map(({ ms, text, task, request, failure, rows }) => [ms, text, task, request, failure, rows]),
    ).toEqual([
      [250, 'SELECT ?', 'vector.edit', 'r-2', '23505', 3],
      [300, 'SELECT a', 'vector.edit', 'r-2', 'unknown', undefined],
    ]);
    expect(JSON.stringify(recorder.report())).not.toContain(SECRET);
  });

  it('keeps a bounded number of texts and loses no count', () => {
    const recorder = new StatementRecorder();
    const first = recorder.find('sqlite', 'SELECT first');
    for (let i = 0; i < 2000; i++) recorder.ended(recorder.find('sqlite', `SELECT a${i} FROM t`), 1);
    recorder.ended(first, 1);
    const { texts } = recorder.report();
    expect(texts.length).toBeLessThanOrEqual(301);
    expect(count(recorder)).toBe(2001);
    expect(texts.find(({ text }) => text === '(other statements)')?.count).toBeGreaterThan(1500);
  });

  it('adds up reports and keeps the most expensive texts', () => {
    const recorders = [new StatementRecorder(), new StatementRecorder()];
    recorders.forEach((recorder, i) => {
      recorder.countPrepared = () => ({ prepared: i + 1, capacity: 64 });
      for (const [text, ms] of [
        ['SELECT cheap', 1],
        ['SELECT dear', 100 * (i + 1)],
      ] as const)
        recorder.ended(recorder.find('sqlite', text), ms);
    });
    const joined = joinStatements(
      recorders.map((recorder) => recorder.report()),
      1,
    );
    expect(joined.texts.map(({ text, count: n, totalMs, maxMs }) => [text, n, totalMs, maxMs])).toEqual([
      ['SELECT dear', 2, 300, 200],
      ['(other statements)', 2, 2, 1],
    ]);
    expect([joined.prepared, joined.capacity]).toEqual([3, 128]);
    // The reports remain as they were.
    expect(recorders[0]!.report().texts.map(({ count: n }) => n)).toEqual([1, 1]);
  });
});

describe('durations in buckets', () => {
  it('estimate quantiles within 5 percent', () => {
    const counts = emptyDurations();
    const values = Array.from({ length: 1000 }, (_, i) => 0.05 * 1.01 ** i);
    for (const value of values) countDuration(counts, value);
    for (const quantile of [0.5, 0.95, 0.99]) {
      const exact = values[Math.ceil(1000 * quantile) - 1]!;
      expect(Math.abs(estimateQuantile(counts, quantile) / exact - 1)).toBeLessThan(0.05);
    }
    expect(estimateQuantile(emptyDurations(), 0.95)).toBe(0);
  });
});
