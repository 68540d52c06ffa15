import { threadId } from 'node:worker_threads';
import { addDurations, countDuration, emptyDurations } from './durations.js';
import { parameterize } from './statement-text.js';
import { currentTask } from './task-scope.js';

/** Database of a statement: that of a PostgreSQL layer, a SQLite file of layers, or the state. */
export type StatementStore = 'postgres' | 'sqlite' | 'state';

/** Counts and times of statements. Milliseconds. */
export interface StatementTotals {
  count: number;
  failed: number;
  slow: number;
  totalMs: number;
  maxMs: number;
}

export interface TextTotals extends StatementTotals {
  readonly store: StatementStore;
  /** Parameterised text. */
  readonly text: string;
  /** Executions with and without a statement that was prepared before. */
  hits: number;
  misses: number;
}

export interface SlowStatement {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly ms: number;
  readonly store: StatementStore;
  readonly text: string;
  /** Task that sent it; undefined: a statement outside a task. */
  readonly task?: string;
  /** Correlation id of the request. */
  readonly request?: string;
  readonly rows?: number;
  /** SQLSTATE, or SQLite's code, of a failure. The database's own text can contain values. */
  readonly failure?: string;
  readonly pid: number;
  readonly thread: number;
}

/** Statements of one or several threads since their start. */
export interface StatementReport {
  readonly texts: readonly TextTotals[];
  /** Totals by task. */
  readonly tasks: Readonly<Record<string, StatementTotals>>;
  readonly durations: readonly number[];
  /** Newest last. */
  readonly slow: readonly SlowStatement[];
  /** Prepared statements that are kept now, and the most that can be kept. */
  readonly prepared: number;
  readonly capacity: number;
}

/** Texts with separate totals, in one thread and in the sum over all. */
const MAX_TEXTS = 300;
/** Slow statements that a thread keeps. */
const MAX_SLOW = 100;
/** Slow statements in the sum over all threads. */
const MAX_JOINED_SLOW = 1000;
/** Raw texts whose parameterised text is kept. */
const MAX_RAW = 600;
/** Text of the totals of texts that are no longer kept. */
const OTHER_TEXTS = '(other statements)';
const DEFAULT_SLOW_MS = 250;
/** Names for statements of the state, and of no task. */
const STATE_TASK = 'state';
const NO_TASK = 'other';

const noTotals = (): StatementTotals => ({ count: 0, failed: 0, slow: 0, totalMs: 0, maxMs: 0 });

const noText = (store: StatementStore, text: string): TextTotals => ({
  ...noTotals(),
  store,
  text,
  hits: 0,
  misses: 0,
});

/** End of a statement. */
export interface StatementEnd {
  rows?: number | undefined;
  /** Its failure. */
  error?: unknown;
  /** Whether it was prepared before. Undefined where statements are not prepared. */
  reused?: boolean | undefined;
}

/** Statement of a known text, which the recorder counts. */
export class WatchedStatement {
  constructor(
    readonly store: StatementStore,
    readonly text: string,
    /** Undefined: its text is not kept any more. */
    public totals: TextTotals | undefined,
  ) {}
}

/** Counts and times the statements of one thread, or of one connection to the state. */
export class StatementRecorder {
  slowMs = DEFAULT_SLOW_MS;
  /** Number of prepared statements that are kept now, and the most that can be kept. */
  countPrepared: () => { prepared: number; capacity: number } = () => ({ prepared: 0, capacity: 0 });
  readonly #raw = new Map<string, WatchedStatement>();
  readonly #texts = new Map<string, WatchedStatement>();
  readonly #others = new Map<StatementStore, TextTotals>();
  readonly #tasks = new Map<string, StatementTotals>();
  readonly #durations = emptyDurations();
  readonly #slow: SlowStatement[] = [];

  /** Finds the statement of an SQL text. */
  find(store: StatementStore, sql: string): WatchedStatement {
    const known = this.#raw.get(sql);
    if (known?.totals && known.store === store) return known;
    const text = parameterize(sql);
    const key = `${store} ${text}`;
    let statement = this.#texts.get(key);
    if (!statement) {
      if (this.#texts.size >= MAX_TEXTS) this.#forgetRarest();
      statement = new WatchedStatement(store, text, noText(store, text));
      this.#texts.set(key, statement);
    }
    if (this.#raw.size >= MAX_RAW) this.#raw.clear();
    this.#raw.set(sql, statement);
    return statement;
  }

  /** Records the end of a statement that took `ms`. */
  ended(statement: WatchedStatement, ms: number, { rows, error, reused }: StatementEnd = {}): void {
    const { store, text } = statement;
    const task = currentTask();
    if (task) task.databaseMs += ms;
    const isSlow = ms >= this.slowMs;
    const totals = statement.totals ?? this.#otherOf(store);
    addOne(totals, ms, isSlow, error !== undefined);
    if (reused !== undefined) totals[reused ? 'hits' : 'misses'] += 1;
    countDuration(this.#durations, ms);
    const name = store === 'state' ? STATE_TASK : (task?.name ?? NO_TASK);
    let ofTask = this.#tasks.get(name);
    if (!ofTask) this.#tasks.set(name, (ofTask = noTotals()));
    addOne(ofTask, ms, isSlow, error !== undefined);
    if (!isSlow) return;
    this.#slow.push({
      at: Date.now(),
      ms,
      store,
      text,
      ...(task === undefined ? {} : { task: task.name }),
      ...(task?.request === undefined ? {} : { request: task.request }),
      ...(rows === undefined ? {} : { rows }),
      ...(error === undefined ? {} : { failure: readCode(error) }),
      pid: process.pid,
      thread: threadId,
    });
    if (this.#slow.length > MAX_SLOW) this.#slow.shift();
  }

  /** Runs a statement and records its end. An error of `work` before its promise is thrown immediately. */
  run<T>(
    store: StatementStore,
    sql: string,
    work: () => Promise<T>,
    describe?: (result: T | undefined) => StatementEnd,
  ): Promise<T> {
    const started = performance.now();
    return this.#record(this.find(store, sql), started, work(), describe);
  }

  async #record<T>(
    statement: WatchedStatement,
    started: number,
    work: Promise<T>,
    describe?: (result: T | undefined) => StatementEnd,
  ): Promise<T> {
    try {
      const result = await work;
      this.ended(statement, performance.now() - started, describe?.(result));
      return result;
    } catch (error) {
      this.ended(statement, performance.now() - started, { ...describe?.(undefined), error });
      throw error;
    }
  }

  report(): StatementReport {
    return {
      texts: [
        ...[...this.#texts.values()].flatMap(({ totals }) => (totals && totals.count > 0 ? [totals] : [])),
        ...this.#others.values(),
      ],
      tasks: Object.fromEntries(this.#tasks),
      durations: this.#durations,
      slow: this.#slow,
      ...this.countPrepared(),
    };
  }

  #otherOf(store: StatementStore): TextTotals {
    let totals = this.#others.get(store);
    if (!totals) this.#others.set(store, (totals = noText(store, OTHER_TEXTS)));
    return totals;
  }

  /** Adds the totals of the text that was executed least often to those of the other texts. */
  #forgetRarest(): void {
    let rarest: [string, WatchedStatement] | undefined;
    for (const one of this.#texts)
      if (!rarest || one[1].totals!.count < rarest[1].totals!.count) rarest = one;
    if (!rarest) return;
    const [key, statement] = rarest;
    addText(this.#otherOf(statement.store), statement.totals!);
    statement.totals = undefined;
    this.#texts.delete(key);
  }
}

function addOne(totals: StatementTotals, ms: number, isSlow: boolean, isFailed: boolean): void {
  totals.count += 1;
  totals.totalMs += ms;
  if (ms > totals.maxMs) totals.maxMs = ms;
  if (isSlow) totals.slow += 1;
  if (isFailed) totals.failed += 1;
}

function addTotals(to: StatementTotals, from: StatementTotals): void {
  to.count += from.count;
  to.failed += from.failed;
  to.slow += from.slow;
  to.totalMs += from.totalMs;
  to.maxMs = Math.max(to.maxMs, from.maxMs);
}

function addText(to: TextTotals, from: TextTotals): void {
  addTotals(to, from);
  to.hits += from.hits;
  to.misses += from.misses;
}

/** A code of at most six words' characters; anything else could be a text with values. */
function readCode(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^\w{2,40}$/.test(code) ? code : 'unknown';
}

/** Sum of reports. Texts above the bound are added up as other statements, the rarest first. */
export function joinStatements(reports: readonly StatementReport[], maxTexts = MAX_TEXTS): StatementReport {
  const texts = new Map<string, TextTotals>();
  const tasks: Record<string, StatementTotals> = {};
  const durations = emptyDurations();
  for (const report of reports) {
    for (const one of report.texts) addText(entryOf(texts, one), one);
    for (const [name, totals] of Object.entries(report.tasks))
      addTotals((tasks[name] ??= noTotals()), totals);
    addDurations(durations, report.durations);
  }
  const sum = (member: 'prepared' | 'capacity') => reports.reduce((all, report) => all + report[member], 0);
  return {
    texts: boundTexts([...texts.values()], maxTexts),
    tasks,
    durations,
    slow: reports
      .flatMap(({ slow }) => slow)
      .sort((a, b) => a.at - b.at)
      .slice(-MAX_JOINED_SLOW),
    prepared: sum('prepared'),
    capacity: sum('capacity'),
  };
}

function entryOf(texts: Map<string, TextTotals>, { store, text }: TextTotals): TextTotals {
  const key = `${store} ${text}`;
  let entry = texts.get(key);
  if (!entry) texts.set(key, (entry = noText(store, text)));
  return entry;
}

function boundTexts(texts: TextTotals[], max: number): TextTotals[] {
  const isOther = ({ text }: TextTotals) => text === OTHER_TEXTS;
  const known = texts.filter((one) => !isOther(one)).sort((a, b) => b.totalMs - a.totalMs);
  const others = new Map(texts.filter(isOther).map((one) => [`${one.store} ${OTHER_TEXTS}`, one]));
  for (const one of known.slice(max)) addText(entryOf(others, { ...one, text: OTHER_TEXTS }), one);
  return [...known.slice(0, max), ...others.values()];
}

/** Statements of this thread. */
export const statements = new StatementRecorder();
