import {
  describeRasterLocation,
  isDistant,
  listMosaicMembers,
} from '../../../core/catalog/raster-sources.js';
import { countCommits, type LogCommits } from '../../../core/files/commit-count.js';
import type { Pools, TaskInput, TaskName, TaskOptions, TaskOutput } from '../../../core/tasks/tasks.js';
import type { VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import { inspections as inspectionCount } from '../../telemetry/metrics.js';
import { type InspectedState, InspectedStates, isRacy } from './inspected-state.js';
import type { InspectionFiles, KeptInspection, SourceInspections } from './inspection-files.js';

/** Tasks whose output depends only on their input and on the file that they open. */
export type InspectionName =
  | 'raster.inspect'
  | 'raster.layers'
  | 'vector.archive'
  | 'vector.inspect'
  | 'vector.otherTables';

/** Runs inspections. */
export interface Inspector {
  run<N extends InspectionName>(name: N, input: TaskInput<N>, options: TaskOptions): Promise<TaskOutput<N>>;
}

export interface InspectionTimes {
  /** Milliseconds since 1970. */
  now?(): number;
  writeDelayMs?: number;
}

/** Milliseconds from a reading of the sources until its inspections are written: a start does the rest first. */
const WRITE_DELAY_MS = 1000;

/**
 * Inspections of the files that are sources. The first reading of a process takes those of earlier processes from the
 * data folder where a file is unchanged. Later readings inspect, so that a reload of everything opens each file.
 */
export class Inspections {
  readonly #now: () => number;
  readonly #writeDelayMs: number;
  readonly #states = new InspectedStates();
  /** Sources that have a file in the folder. */
  readonly #written = new Set<string>();
  readonly #unwritten = new Map<string, SourceInspection>();
  readonly #gone = new Set<string>();
  /** Sources of the first reading, until all other files are removed. */
  #firstSources: ReadonlySet<string> | undefined;
  #isFirst = true;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    /** Files that store inspections. Default: inspections are not stored. */
    private readonly files?: InspectionFiles,
    { now = Date.now, writeDelayMs = WRITE_DELAY_MS }: InspectionTimes = {},
  ) {
    this.#now = now;
    this.#writeDelayMs = writeDelayMs;
  }

  /** Starts a reading of one source. */
  async start(source: string): Promise<SourceInspection> {
    const { pools, files } = this;
    const former: SourceInspections = this.#isFirst && files ? await files.read(source) : new Map();
    if (former.size > 0) this.#written.add(source);
    return new SourceInspection({
      pools,
      former,
      now: this.#now,
      states: files && this.#states,
      noteUnsaved: (inspection) => {
        this.#unwritten.set(source, inspection);
        if (!this.#isFirst) this.#plan();
      },
    });
  }

  /** Call when all sources were read. New inspections are written later, and those of other sources are removed. */
  end(sources: ReadonlySet<string>): void {
    this.#states.forget();
    if (!this.files) return;
    if (this.#isFirst) this.#firstSources = new Set(sources);
    this.#isFirst = false;
    for (const source of this.#unwritten.keys()) if (!sources.has(source)) this.#unwritten.delete(source);
    for (const source of this.#written) if (!sources.has(source)) this.#gone.add(source);
    if (this.#firstSources || this.#gone.size + this.#unwritten.size > 0) this.#plan();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.#write(), this.#writeDelayMs).unref();
  }

  /** A file that cannot be written, on a full disk for example, is inspected again by the next start. */
  async #write(): Promise<void> {
    const files = this.files!;
    const ignore = () => {};
    const sources = this.#firstSources;
    this.#firstSources = undefined;
    if (sources) await files.keepOnly(sources).catch(ignore);
    for (const source of this.#gone) {
      this.#gone.delete(source);
      this.#written.delete(source);
      await files.remove(source).catch(ignore);
    }
    for (const [source, inspection] of this.#unwritten) {
      if (this.#isClosed) return;
      this.#unwritten.delete(source);
      const unsaved = inspection.takeUnsaved();
      if (!unsaved) continue;
      this.#written.add(source);
      await files.write(source, unsaved).catch(ignore);
    }
    this.#timer = undefined;
    if (this.#gone.size + this.#unwritten.size > 0) this.#plan();
  }
}

interface SourceInspectionDeps {
  readonly pools: Pick<Pools, 'run'>;
  /** Default: inspections are not stored. */
  readonly states: InspectedStates | undefined;
  /** Inspections of an earlier process. */
  readonly former: SourceInspections;
  now(): number;
  /** Called when there are inspections to write. */
  noteUnsaved(inspection: SourceInspection): void;
}

/** Inspections of one source during one reading. */
export class SourceInspection implements Inspector {
  readonly #current = new Map<string, KeptInspection>();
  #isKept = false;
  #saved: SourceInspections;

  constructor(private readonly deps: SourceInspectionDeps) {
    this.#saved = deps.former;
  }

  async run<N extends InspectionName>(
    name: N,
    input: TaskInput<N>,
    options: TaskOptions,
  ): Promise<TaskOutput<N>> {
    const path = findInspectedFile(input);
    const { pools, states, now } = this.deps;
    if (!states || path === undefined) return pools.run(name, input, options);
    const key = `${name} ${JSON.stringify(input)}`;
    const commits = countCommits(path);
    const state = await states.read(path);
    const former = this.deps.former.get(key);
    if (former && state && isSameState(former.state, state) && !isRacy(state, former.at)) {
      this.#note(key, former);
      inspectionCount.cell('kept').inc();
      return recount(name, former.output as TaskOutput<N>, path, commits);
    }
    inspectionCount.cell('made').inc();
    const at = now();
    const output = await pools.run(name, input, options);
    const after = await states.read(path);
    const isKnown = state && after && isSameState(state, after) && !isRacy(state, at);
    this.#note(key, isKnown ? { state, at, output } : undefined);
    return output;
  }

  /** Call when the source was read without a failure that may pass. */
  keep(): void {
    this.#isKept = true;
    if (this.deps.states) this.deps.noteUnsaved(this);
  }

  /** Returns the inspections of this reading; undefined if they are the ones that were saved last. */
  takeUnsaved(): SourceInspections | undefined {
    const [current, saved] = [this.#current, this.#saved];
    const isSame = current.size === saved.size && [...current].every(([key, one]) => saved.get(key) === one);
    if (isSame) return undefined;
    this.#saved = new Map(current);
    return this.#saved;
  }

  #note(key: string, inspection: KeptInspection | undefined): void {
    if (inspection) this.#current.set(key, inspection);
    else this.#current.delete(key);
    if (this.#isKept) this.keep();
  }
}

const isSameState = (one: InspectedState, other: InspectedState) => one.text === other.text;

/** The file that an inspection opens; undefined if it opens several files, or none. */
function findInspectedFile(input: TaskInput<InspectionName>): string | undefined {
  if ('path' in input) return input.path;
  const { source } = input;
  return isDistant(source) || listMosaicMembers(source) ? undefined : describeRasterLocation(source);
}

/** An inspection that was kept counts commits by a log that may be another one now. */
function recount<N extends TaskName>(
  name: N,
  output: TaskOutput<N>,
  path: string,
  before: LogCommits | undefined,
): TaskOutput<N> {
  if (name !== 'vector.inspect') return output;
  const after = countCommits(path);
  const isSame = before?.log === after?.log && before?.count === after?.count;
  return (output as VectorLayerInfo[]).map(({ commits: _, ...layer }) =>
    isSame && before ? { ...layer, commits: before } : layer,
  ) as TaskOutput<N>;
}
