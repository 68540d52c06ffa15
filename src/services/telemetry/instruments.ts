import type { MetricObject } from './types.js';

/**
 * Counters, gauges and histograms that cost a few nanoseconds to record, because callers find a cell once per label
 * set and keep it. They plug into prom-client's registry for the scrape. The OTLP exporter reads the same cells, so
 * every number is counted once.
 */

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface HistogramSample {
  readonly labels: Readonly<Record<string, string>>;
  /** Observations per bucket, not cumulative; one more than bounds for the rest. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

interface Spec {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Dots are not allowed in an exposition name. The OTLP name keeps them. */
function expositionName(name: string): string {
  return name.replace(/\./g, '_');
}

/**
 * Maximum label sets of one instrument. Further ones are counted together, under `other`, so that requests cannot
 * enlarge the scrape beyond its limit. The first label sets keep separate names.
 */
export const MAX_CELLS = { histogram: 250, other: 1000 } as const;
/** Number of first label sets of an instrument that always keep their names. */
export const OWN_CELLS = { histogram: 4, other: 24 } as const;
/** Lines of the scrape that the label sets of all instruments together may take; beyond them `other` as well. */
const MAX_LINES = 8000;

/**
 * Shares of the label sets and lines per kind of requests, so that no client uses up the share of another.
 * - `refused`: refused requests (401, 403, 429, unknown paths).
 * - `admin`: management operations.
 * - `wrong`: errors of clients (other 4xx).
 * - `rest`: all other requests, with the remainder of at least half.
 */
export const LABEL_SHARES = { refused: 0.1, admin: 0.2, wrong: 0.2, rest: 1 } as const;
export type Share = keyof typeof LABEL_SHARES;

const noneUsed = (): Record<Share, number> => ({ refused: 0, admin: 0, wrong: 0, rest: 0 });
const lines = noneUsed();
const sumTotal = (counts: Readonly<Record<Share, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

const OTHER = 'other';

abstract class Family<Cell> {
  abstract readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly dottedName: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly #cells = new Map<string, { labels: Record<string, string>; cell: Cell }>();
  readonly #used = noneUsed();
  #observe: ((family: this) => void) | undefined;
  protected readonly maxCells: number = MAX_CELLS.other;
  protected readonly ownCells: number = OWN_CELLS.other;
  /** Lines of the scrape that a label set takes. */
  protected get linesPerCell(): number {
    return 1;
  }

  constructor(spec: Spec, name = expositionName(spec.name)) {
    this.dottedName = spec.name;
    this.name = name;
    this.help = spec.help;
    this.labelNames = spec.labels ?? [];
  }

  protected abstract newCell(): Cell;

  /** The cell of these label values, in the order of `labelNames`. Keep it: the look-up is the slow part. */
  cell(...values: string[]): Cell {
    return this.cellIn('rest', ...values);
  }

  /** Like `cell`, within the share of a kind of requests. */
  cellIn(share: Share, ...values: string[]): Cell {
    const key = values.join('\u0000');
    const existing = this.#cells.get(key);
    if (existing) return existing.cell;
    if (this.#isFull(share) && values.some((value) => value !== OTHER))
      return this.cellIn(share, ...values.map(() => OTHER));
    const labels: Record<string, string> = {};
    this.labelNames.forEach((name, i) => {
      labels[name] = values[i] ?? '';
    });
    const cell = this.newCell();
    this.#cells.set(key, { labels, cell });
    this.#used[share] += 1;
    lines[share] += this.linesPerCell;
    return cell;
  }

  #isFull(share: Share): boolean {
    if (share === 'rest' && this.#used.rest < this.ownCells) return false;
    const part = LABEL_SHARES[share];
    const [used, usedLines] =
      share === 'rest' ? [sumTotal(this.#used), sumTotal(lines)] : [this.#used[share], lines[share]];
    return used >= this.maxCells * part || usedLines + this.linesPerCell > MAX_LINES * part;
  }

  /** Called before every read, to set cells from live state. */
  observe(read: (family: this) => void): this {
    this.#observe = read;
    return this;
  }

  protected entries() {
    // Without labels there is one series, which is shown from the start: an alert on its rate needs the zero.
    if (this.labelNames.length === 0 && this.type !== 'gauge') this.cell();
    this.#observe?.(this);
    return [...this.#cells.values()];
  }

  /** Required by prom-client's registry. */
  reset(): void {
    for (const share of Object.keys(LABEL_SHARES) as Share[]) {
      lines[share] -= this.#used[share] * this.linesPerCell;
      this.#used[share] = 0;
    }
    this.#cells.clear();
  }
}

export class CounterCell {
  value = 0;
  inc(by = 1): void {
    this.value += by;
  }
}

export class Counter extends Family<CounterCell> {
  readonly type = 'counter';
  constructor(spec: Spec) {
    super(spec, expositionName(spec.name).replace(/(_total)?$/, '_total'));
  }
  protected newCell() {
    return new CounterCell();
  }
  samples(): MetricSample[] {
    return this.entries().map(({ labels, cell }) => ({ labels, value: cell.value }));
  }
  async get(): Promise<MetricObject> {
    return { name: this.name, help: this.help, type: this.type, aggregator: 'sum', values: this.samples() };
  }
}

export class GaugeCell {
  value = 0;
  set(value: number): void {
    this.value = value;
  }
  add(by: number): void {
    this.value += by;
  }
}

export class Gauge extends Family<GaugeCell> {
  readonly type = 'gauge';
  protected newCell() {
    return new GaugeCell();
  }
  samples(): MetricSample[] {
    return this.entries().map(({ labels, cell }) => ({ labels, value: cell.value }));
  }
  async get(): Promise<MetricObject> {
    return { name: this.name, help: this.help, type: this.type, aggregator: 'sum', values: this.samples() };
  }
}

export class HistogramCell {
  counts: number[];
  sum = 0;
  count = 0;
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }
  observe(value: number): void {
    const { bounds } = this;
    let i = 0;
    while (i < bounds.length && value > bounds[i]!) i++;
    this.counts[i]!++;
    this.sum += value;
    this.count++;
  }
}

export class Histogram extends Family<HistogramCell> {
  readonly type = 'histogram';
  protected override readonly maxCells: number = MAX_CELLS.histogram;
  protected override readonly ownCells: number = OWN_CELLS.histogram;
  readonly bounds: readonly number[];
  constructor(spec: Spec & { bounds: readonly number[] }) {
    super(spec);
    this.bounds = spec.bounds;
  }
  protected newCell() {
    return new HistogramCell(this.bounds);
  }
  /** A line for each bucket, the rest, the sum and the count. */
  protected override get linesPerCell(): number {
    return this.bounds.length + 3;
  }
  samples(): HistogramSample[] {
    return this.entries().map(({ labels, cell }) => ({
      labels,
      counts: [...cell.counts],
      sum: cell.sum,
      count: cell.count,
    }));
  }
  async get(): Promise<MetricObject> {
    const values = this.samples().flatMap((sample) => this.#exposition(sample));
    return { name: this.name, help: this.help, type: this.type, aggregator: 'sum', values };
  }
  #exposition({ labels, counts, sum, count }: HistogramSample) {
    let cumulative = 0;
    const buckets = counts.map((n, i) => {
      cumulative += n;
      const le = i < this.bounds.length ? this.bounds[i]! : '+Inf';
      return { labels: { ...labels, le }, value: cumulative, metricName: `${this.name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: sum, metricName: `${this.name}_sum` },
      { labels, value: count, metricName: `${this.name}_count` },
    ];
  }
}

export type Instrument = Counter | Gauge | Histogram;

/** UCUM units by the suffix of names. */
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/_ms$/, 'ms'],
  [/_seconds$/, 's'],
  [/bytes(_released)?$/, 'By'],
  [/_mb$/, 'MiBy'],
  [/_percent$|^svc_memory_pressure_detailed$/, '%'],
];

/** Unit of an instrument. */
export function getInstrumentUnit(name: string): string {
  return UNITS.find(([ending]) => ending.test(name))?.[1] ?? '1';
}
