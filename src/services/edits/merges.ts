import { rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hasFeatures } from '../../core/catalog/abilities.js';
import { type CatalogSnapshot, type VectorCollection, whole } from '../../core/catalog/collection.js';
import { unreadNamed } from '../../core/catalog/unread.js';
import type { MergeCounts, MergeRequest, MergeResult, RejectedRow } from '../../core/edits/merges.js';
import { ApiError, badMember, notFound } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { formatFieldErrors } from '../../core/errors/field-errors.js';
import { exists } from '../../core/files/exists.js';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Field } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AccessPolicy } from '../access/access.js';
import type { JobContext } from '../jobs/kinds.js';
import { removeOldFiles } from '../kit/old-files.js';
import { type EditBounds, editBounds, NO_BOUNDS, requireWritable } from './edit-bounds.js';
import type { Edits } from './edits.js';

/** Parameters of an import into an existing collection. */
export interface MergeInput extends MergeRequest {
  /** Principal whose rights limit the import. Default: no limit. */
  principal?: Principal;
}

/** Results of the rows. */
export interface MergeReport extends MergeCounts {
  mode: MergeRequest['mode'];
  /** The first rejected rows. */
  rejections: RejectedRow[];
}

export interface MergesDeps {
  pools: Pools;
  edits: Edits;
  dataDir: string;
  catalog(): CatalogSnapshot;
  /** Rights of callers. Without it, merges have no caller. */
  callers?: {
    /** The catalog as a principal may read it. */
    visible(principal: Principal): CatalogSnapshot;
    access: AccessPolicy;
  };
}

/** A file whose rows go into a collection, once it is a staging GeoPackage. */
export interface StagedRows {
  collection: string;
  merge: MergeInput;
  staging: string;
  stagingTable: string;
  /** All columns of the file are texts. */
  isText: boolean;
}

/** Types of fields that can be keys: every program writes their values in the same way. */
const KEY_TYPES: ReadonlySet<Field['type']> = new Set(['integer', 'string', 'date']);
const PROTOCOL = 'Import';
const DAY_MS = 86_400_000;
/** Milliseconds between progress checks of a merge. */
const LOOK_MS = 250;
/** Parts of a merge at which its rows are checked, and written. */
const CHECKED = 0.4;
const WRITTEN = 0.99;

/** Merges rows of files into existing collections: appends them, replaces all, or changes features by a key. */
export class Merges {
  readonly #deps: MergesDeps;
  readonly #folder: string;

  constructor(deps: MergesDeps) {
    this.#deps = deps;
    this.#folder = join(resolve(deps.dataDir), 'merges');
  }

  /** Whether merges are bounded by the rights of callers. */
  get knowsCallers(): boolean {
    return this.#deps.callers !== undefined;
  }

  /** Throws what a merge would throw now. */
  refuse(id: string, input: MergeInput): void {
    this.#target(id, input);
  }

  /** Merges rows. They are checked first, so that the transaction only writes. */
  async run(context: JobContext, rows: StagedRows, tell: (part: number) => void): Promise<MergeReport> {
    const { collection, bounds } = this.#target(rows.collection, rows.merge);
    const { mode, rejectRows } = rows.merge;
    // If the staging file is missing, an earlier run has completed: the store contains its result.
    let total = 0;
    if (await exists(rows.staging))
      total = await context.step('check', 'Checking the rows', () =>
        this.#check(context, { rows, collection, bounds }, tell),
      );
    const result = await context.step('merge', `Writing into ${collection.id}`, () =>
      this.#write(context, { rows, collection, bounds }, (count) =>
        tell(CHECKED + (WRITTEN - CHECKED) * part(count, total)),
      ),
    );
    if (result.rejected > 0) await this.#keepReport(context);
    if (result.refusal !== undefined) throw nothingChanged(result.refusal);
    if (rejectRows && result.rejected > 0)
      await context.warn(`${result.rejected} rows were left out; the list of rejected rows says why.`);
    const { change: _, refusal: __, ...counts } = result;
    return { mode, ...counts };
  }

  /** Throws `not-found` where no row of this import was rejected, or its list is too old. */
  async rejectedRows(jobId: string): Promise<string> {
    const path = this.#reportOf(jobId);
    if (!(await exists(path))) throw notFound('list of rejected rows', jobId.slice(0, 100));
    return path;
  }

  /** Removes what a merge needed on its way. */
  async discard(jobId: string): Promise<void> {
    for (const suffix of ['', '-journal']) await rm(this.#spoolOf(jobId) + suffix, { force: true });
  }

  /** Removes old lists. */
  async trim(now = Date.now()): Promise<void> {
    await removeOldFiles(this.#folder, () => LIMITS.exportDays * DAY_MS, now);
  }

  #target(id: string, { mode, keyField, principal }: MergeInput) {
    const catalog = this.#deps.catalog();
    const published = catalog.byId(id);
    if (!hasFeatures(published))
      throw unreadNamed(catalog, id) ?? notFound('feature collection', id.slice(0, 100));
    const collection = whole(published);
    const bounds = principal ? this.#boundsOf(principal, collection) : NO_BOUNDS;
    requireWritable(collection);
    if (mode === 'upsert') requireKey(collection, bounds, keyField);
    return { collection, bounds };
  }

  #boundsOf(principal: Principal, collection: VectorCollection): EditBounds {
    const { visible, access } = this.#deps.callers!;
    const shown = visible(principal).byId(collection.id);
    if (!hasFeatures(shown)) throw notFound('feature collection', collection.id);
    return editBounds(shown, access(principal, collection, 'write'));
  }

  async #check(context: JobContext, merge: MergeRun, tell: (part: number) => void): Promise<number> {
    const { rows, collection, bounds } = merge;
    const { staging, stagingTable, isText, merge: request } = rows;
    const { visible, writable } = bounds;
    const task = {
      staging,
      stagingTable,
      isText,
      visible,
      writable,
      target: collection.source,
      spool: this.#spoolOf(context.id),
      report: this.#reportOf(context.id),
      request: buildRequest(request),
    };
    const checked = await withCount(
      (count) => tell(CHECKED * (1 - 1000 / (1000 + count))),
      (count) => this.#deps.pools.run('vector.mergeRows', { ...task, count }, { stop: context.signal }),
    );
    for (const warning of checked.warnings) await context.warn(warning);
    const { rejected, rejections } = checked;
    if (rejected === 0 || (request.rejectRows && checked.rows > 0)) return checked.rows;
    await this.#keepReport(context);
    throw nothingChanged(tellRejected(rejected, rejections[0]!));
  }

  #write(
    context: JobContext,
    { rows, collection, bounds }: MergeRun,
    tell: (count: number) => void,
  ): Promise<MergeResult> {
    const { id, signal } = context;
    const { principal } = rows.merge;
    const merge = {
      ...bounds,
      spool: this.#spoolOf(id),
      report: this.#reportOf(id),
      token: id,
      request: buildRequest(rows.merge),
      origin: {
        collection: collection.id,
        layerId: collection.layerId,
        protocol: PROTOCOL,
        requestId: id,
        actor: principal?.id ?? 'command line',
      },
    };
    const write = () =>
      withCount(tell, (count) => this.#deps.edits.merge(collection, { ...merge, count }, signal));
    // If the outcome is unknown, the write is repeated: the database knows whether the first one was committed.
    return write().catch((error: unknown) => {
      if (error instanceof TaskFailure && error.code === 'outcome-unknown') return write();
      throw error;
    });
  }

  async #keepReport(context: JobContext): Promise<void> {
    const path = this.#reportOf(context.id);
    const state = await stat(path).catch(() => undefined);
    if (!state) return;
    await context.artifact({
      label: 'rejected-rows.ndjson',
      kind: 'rejected-rows',
      content_type: REJECTED_ROWS_TYPE,
      size_bytes: state.size,
      location: path,
    });
  }

  #spoolOf(jobId: string): string {
    return join(resolve(this.#deps.dataDir), 'staging', `${jobId}.rows`);
  }

  #reportOf(jobId: string): string {
    return join(this.#folder, `${jobId.replace(/[^\w-]/g, '')}.ndjson`);
  }
}

export const REJECTED_ROWS_TYPE = 'application/x-ndjson';

interface MergeRun {
  rows: StagedRows;
  collection: VectorCollection;
  bounds: EditBounds;
}

const buildRequest = ({ mode, keyField, rejectRows }: MergeInput): MergeRequest => ({
  mode,
  ...(keyField === undefined ? {} : { keyField }),
  rejectRows,
});

function requireKey(
  { source }: VectorCollection,
  { visible }: EditBounds,
  keyField: string | undefined,
): void {
  const field = source.fields.find(({ name }) => name === keyField && (visible?.includes(name) ?? true));
  if (field && KEY_TYPES.has(field.type)) return;
  const isId = keyField === source.idColumn && !source.idGenerated;
  if (isId && (source.idType === 'string' || source.idType === 'uuid')) return;
  const detail = 'must be a field of integers, strings or dates, or an id column of strings or UUIDs';
  throw badMember('KeyField', detail);
}

function nothingChanged(reason: string): ApiError {
  return new ApiError('unprocessable', `No feature was changed. ${reason}`);
}

function tellRejected(count: number, { row, reasons }: RejectedRow): string {
  const rows = count === 1 ? 'One row was rejected' : `${count} rows were rejected`;
  return `${rows}. Row ${row}: ${formatFieldErrors(reasons.slice(0, 1))}`.trim();
}

const part = (count: number, total: number) => (total > 0 ? Math.min(1, count / total) : 0);

/** Runs work and reports its count at an interval. */
async function withCount<T>(
  tell: (count: number) => void,
  work: (count: SharedArrayBuffer) => Promise<T>,
): Promise<T> {
  const shared = new SharedArrayBuffer(4);
  const count = new Int32Array(shared);
  const timer = setInterval(() => tell(Atomics.load(count, 0)), LOOK_MS);
  try {
    return await work(shared);
  } finally {
    clearInterval(timer);
  }
}
