import {
  type HeldReport,
  type HeldResource,
  heldResources,
  isPotentialLeak,
} from '../../core/observability/held.js';
import {
  joinStatements,
  type SlowStatement,
  type StatementRecorder,
  type StatementReport,
  statements,
} from '../../core/observability/statements.js';
import type { WorkerReport } from '../../core/observability/worker-report.js';
import type { ReportingPools } from '../../core/tasks/tasks.js';
import type { Peers } from '../cluster/peers.js';

/** A slow statement, and the gateway process that it ran for. */
export interface InstanceStatement extends SlowStatement {
  readonly instance: string;
}

/** Statements of all gateway processes with their workers. */
export interface ClusterStatements {
  readonly report: StatementReport;
  /** Newest first. */
  readonly slow: readonly InstanceStatement[];
  /** Processes that did not respond. */
  readonly missing: readonly string[];
}

/** A resource, and the gateway process that reported it. */
export interface InstanceResource extends HeldResource {
  readonly instance: string;
}

/** Resources of all gateway processes with their workers, the oldest first. */
export interface ClusterResources {
  readonly held: readonly InstanceResource[];
  readonly leaks: readonly InstanceResource[];
  readonly disposed: number;
  readonly collected: number;
  readonly missing: readonly string[];
}

/** Look-ups in a cache. */
interface LookUps {
  readonly hits: number;
  readonly misses: number;
}

/** Figures of the tile cache of a process since its start. */
export interface CacheFigures extends LookUps {
  readonly entries: number;
  readonly bytes: number;
  readonly evictions: number;
  readonly expirations: number;
  readonly deletions: number;
  /** Mean milliseconds of a response that no cache contained. */
  readonly meanMakingMs: number;
  /** Look-ups in the levels after memory by their names. */
  readonly levels: Readonly<Record<string, LookUps>>;
}

interface StatementAnswer {
  readonly instance: string;
  /** Statements of the process and its workers. */
  readonly own: StatementReport;
  /** Statements of engine threads by key. Engines report to each gateway process of their server. */
  readonly engines: Readonly<Record<string, StatementReport>>;
}

interface ResourceAnswer {
  readonly instance: string;
  /** Resources by thread. */
  readonly threads: Readonly<Record<string, HeldReport>>;
}

export interface ProcessReportsOptions {
  /** Names this process. */
  readonly instance: string;
  readonly peers: Pick<Peers, 'answer' | 'gather'>;
  readonly pools: Pick<ReportingPools, 'look'>;
  /** Statements of the state. */
  readonly state: Pick<StatementRecorder, 'report'>;
}

const STATEMENTS = 'observability.statements';
const RESOURCES = 'observability.resources';
const CACHES = 'observability.caches';
/** Texts and slow statements that one process reports. */
const MAX_TEXTS = 100;
const MAX_SLOW = 200;
/** Workers that report to several gateway processes. */
const ENGINES: ReadonlySet<string> = new Set(['raster', 'map']);

interface InstanceReport {
  readonly instance: string;
  readonly report: StatementReport;
}

/**
 * Statements and open resources of this process and its workers, and those of the other processes. Each call
 * queries the threads, so that the figures cost nothing between calls.
 */
export class ProcessReports {
  readonly #sources: (() => readonly HeldResource[])[] = [];

  constructor(private readonly options: ProcessReportsOptions) {
    const { peers } = options;
    peers.answer(STATEMENTS, () => this.#ownStatements());
    peers.answer(RESOURCES, () => this.#ownResources());
  }

  /** Adds resources of this process that another service lists, such as sessions of streams. */
  addResources(list: () => readonly HeldResource[]): void {
    this.#sources.push(list);
  }

  /** Sets the reader of the tile cache of this process. */
  setCache(read: () => Promise<CacheFigures>): void {
    this.options.peers.answer(CACHES, read);
  }

  /** Sums of the tile caches of all processes. The memory of each process is separate. */
  async caches(): Promise<{ figures: CacheFigures; missing: readonly string[] }> {
    const { answers, missing } = await this.options.peers.gather<CacheFigures>(CACHES);
    return { figures: joinCaches(answers), missing };
  }

  async statements(): Promise<ClusterStatements> {
    const { answers, missing } = await this.options.peers.gather<StatementAnswer>(STATEMENTS);
    const engines = new Map<string, InstanceReport>();
    for (const { instance, engines: found } of answers)
      for (const [key, report] of Object.entries(found)) engines.set(key, { instance, report });
    const all = [...answers.map(({ instance, own }) => ({ instance, report: own })), ...engines.values()];
    return {
      report: joinStatements(all.map(({ report }) => report)),
      slow: all
        .flatMap(({ instance, report }) => report.slow.map((one) => ({ ...one, instance })))
        .sort((a, b) => b.at - a.at),
      missing,
    };
  }

  async resources(): Promise<ClusterResources> {
    const { answers, missing } = await this.options.peers.gather<ResourceAnswer>(RESOURCES);
    const threads = new Map<string, HeldReport & { instance: string }>();
    for (const { instance, threads: found } of answers)
      for (const [key, report] of Object.entries(found)) threads.set(key, { ...report, instance });
    const reports = [...threads.values()];
    const held = reports
      .flatMap((one) => one.held.map((resource) => ({ ...resource, instance: one.instance })))
      .sort((a, b) => a.since - b.since || a.id.localeCompare(b.id));
    const sum = (member: 'disposed' | 'collected') => reports.reduce((all, one) => all + one[member], 0);
    const leaks = held.filter(isPotentialLeak);
    return { held, leaks, disposed: sum('disposed'), collected: sum('collected'), missing };
  }

  async #ownStatements(): Promise<StatementAnswer> {
    const { instance, pools, state } = this.options;
    const reports = await pools.look();
    const isEngine = ({ worker }: WorkerReport) => ENGINES.has(worker);
    const workers = reports.filter((one) => !isEngine(one)).map((one) => one.statements);
    const bounded = (parts: readonly StatementReport[]): StatementReport => {
      const joined = joinStatements(parts, MAX_TEXTS);
      return { ...joined, slow: joined.slow.slice(-MAX_SLOW) };
    };
    return {
      instance,
      own: bounded([...workers, state.report(), statements.report()]),
      engines: Object.fromEntries(
        reports.filter(isEngine).map((one) => [one.key, bounded([one.statements])]),
      ),
    };
  }

  async #ownResources(): Promise<ResourceAnswer> {
    const { instance, pools } = this.options;
    const reports = await pools.look();
    const { held, ...own } = heldResources.report();
    const listed = this.#sources.flatMap((list) => list());
    return {
      instance,
      threads: {
        ...Object.fromEntries(reports.map(({ key, resources }) => [key, resources])),
        [instance]: { ...own, held: [...held, ...listed] },
      },
    };
  }
}

function joinCaches(parts: readonly CacheFigures[]): CacheFigures {
  const sum = (member: Exclude<keyof CacheFigures, 'levels' | 'meanMakingMs'>) =>
    parts.reduce((all, one) => all + one[member], 0);
  const misses = sum('misses');
  const making = parts.reduce((all, one) => all + one.meanMakingMs * one.misses, 0);
  const levels: Record<string, LookUps> = {};
  for (const [name, found] of parts.flatMap((one) => Object.entries(one.levels))) {
    const { hits = 0, misses: missed = 0 } = levels[name] ?? {};
    levels[name] = { hits: hits + found.hits, misses: missed + found.misses };
  }
  return {
    ...{ hits: sum('hits'), misses, entries: sum('entries'), bytes: sum('bytes') },
    ...{ evictions: sum('evictions'), expirations: sum('expirations'), deletions: sum('deletions') },
    meanMakingMs: misses === 0 ? 0 : making / misses,
    levels,
  };
}
