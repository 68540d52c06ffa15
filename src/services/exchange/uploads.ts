import { randomUUID } from 'node:crypto';
import { ApiError, badMember, notFound } from '../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../core/exchange/limits.js';
import type { Principal } from '../../core/http/operation.js';
import type { JobRow } from '../../stores/jobs/jobs.js';
import type { Submitter } from '../access/identity/submitter.js';
import type { Peers } from '../cluster/peers.js';
import type { JobEngine } from '../jobs/engine.js';
import { isOwnFile } from '../jobs/ownership.js';
import type { UploadWatch } from '../uploads/upload.js';
import type { ResumableUpload, ResumableUploads } from './resumable-uploads.js';

type UploadState = 'Queued' | 'Processing' | 'Completed' | 'Failed' | 'Cancelled';

/** A file on its way in, and the job that imports it. Times are milliseconds since 1970. */
export interface UploadView {
  readonly uploadId: string;
  readonly fileName: string;
  readonly contentType: string | null;
  readonly state: UploadState;
  readonly bytes: number;
  /** Size reported by the client or the other server. 0 if unknown. */
  readonly totalBytes: number;
  readonly phase: string | null;
  /** 0..1; null when it is not known. */
  readonly fraction: number | null;
  readonly startedAt: number;
  readonly completedAt: number | null;
  readonly error: string | null;
  readonly warnings: readonly string[];
}

/** Record of an upload that a gateway received. */
interface UploadRecord {
  uploadId: string;
  fileName: string;
  contentType: string | null;
  bytes: number;
  totalBytes: number;
  startedAt: number;
  completedAt: number | null;
  error: string | null;
  cancelled: boolean;
  jobId: string | null;
  isResumable?: true;
  submitter: Submitter;
}

/** Identity of an upload among those of all callers. */
type UploadName = Pick<UploadRecord, 'uploadId' | 'submitter'>;

type ResumableFiles = Pick<ResumableUploads, 'find' | 'list' | 'remove'>;

const LIST = 'uploads';
const CANCEL = 'cancel an upload';
const UPLOAD_ID = /^[\w.:-]{1,100}$/;
/** Bytes that are sent make this part of the progress, the import the rest. */
const SENT = 0.5;

/** Uploads of all gateways: running uploads, and the newest ended ones. */
export class Uploads {
  readonly #records = new Map<string, { record: UploadRecord; stop: AbortController }>();
  readonly #peers: Peers;
  readonly #jobs: JobEngine;
  readonly #resumable: ResumableFiles;

  constructor(peers: Peers, jobs: JobEngine, resumable: ResumableFiles) {
    this.#peers = peers;
    this.#jobs = jobs;
    this.#resumable = resumable;
    peers.answer(LIST, () => [...this.#records.values()].map(({ record }) => record));
    peers.answer(CANCEL, (upload) => this.#stop(upload as UploadName));
  }

  /** Starts to follow an upload of a caller. */
  open(totalBytes: number, submitter: Submitter): ImportUpload {
    const stop = new AbortController();
    const record: UploadRecord = {
      uploadId: randomUUID(),
      fileName: '',
      contentType: null,
      bytes: 0,
      totalBytes,
      startedAt: Date.now(),
      completedAt: null,
      error: null,
      cancelled: false,
      jobId: null,
      submitter,
    };
    this.#records.set(buildKey(record), { record, stop });
    this.#trim();
    return new ImportUpload(record, stop.signal, (id) => this.#rename(record, id));
  }

  /** Uploads of the caller that have not ended, newest first. */
  async list(principal: Principal): Promise<UploadView[]> {
    const [records, resumable] = await Promise.all([this.#arrivals(), this.#resumable.list()]);
    const all = [...records, ...resumable.map(buildRecord)].filter(({ submitter }) =>
      isOwnFile(submitter, principal),
    );
    const views = await Promise.all(all.map((record) => this.#viewOf(record)));
    return views
      .filter(({ state }) => state === 'Queued' || state === 'Processing')
      .sort((a, b) => b.startedAt - a.startedAt);
  }

  /** Throws `not-found`, also for an upload of another caller. */
  async get(id: string, principal: Principal): Promise<UploadView> {
    return this.#viewOf(await this.#record(id, principal));
  }

  /** Ends an upload, or the job that imports it. Throws `not-found`, and `conflict` when it has ended. */
  async cancel(id: string, principal: Principal): Promise<void> {
    const record = await this.#record(id, principal);
    if (record.jobId !== null) await this.#jobs.cancel(record.jobId);
    else if (record.completedAt !== null)
      throw new ApiError('conflict', 'The upload has already ended. Start another one.');
    else if (record.isResumable) await this.#resumable.remove(id, record.submitter);
    else await this.#peers.ask(CANCEL, { uploadId: id, submitter: record.submitter } satisfies UploadName);
  }

  /** Throws `not-found`. */
  async #record(id: string, principal: Principal): Promise<UploadRecord> {
    // Clients choose ids: two callers may choose the same one.
    const fits = ({ uploadId, submitter }: UploadRecord) =>
      uploadId === id && isOwnFile(submitter, principal);
    const arrival = (await this.#arrivals()).find(fits);
    if (arrival) return arrival;
    const record = buildRecord(await this.#resumable.find(id));
    if (!fits(record)) throw notFound('upload', id);
    return record;
  }

  async #arrivals(): Promise<UploadRecord[]> {
    return (await this.#peers.ask<UploadRecord[]>(LIST)).flat();
  }

  async #viewOf(record: UploadRecord): Promise<UploadView> {
    const job = record.jobId === null ? undefined : await this.#jobs.store.get(record.jobId);
    const { uploadId, fileName, contentType, bytes, totalBytes, startedAt } = record;
    const common = { uploadId, fileName, contentType, bytes, totalBytes, startedAt };
    return { ...common, ...(job ? ofJob(job) : ofArrival(record)) };
  }

  #rename(record: UploadRecord, id: string): void {
    if (!UPLOAD_ID.test(id))
      throw badMember('UploadId', 'must be 1 to 100 letters, digits, dots, underscores, colons and hyphens');
    if (id === record.uploadId) return;
    const renamed = { ...record, uploadId: id };
    if (this.#records.has(buildKey(renamed)))
      throw new ApiError('conflict', `UploadId: the upload '${id}' already exists. Choose another id.`);
    const entry = this.#records.get(buildKey(record))!;
    this.#records.delete(buildKey(record));
    record.uploadId = id;
    this.#records.set(buildKey(record), entry);
  }

  #stop(upload: UploadName): boolean {
    const entry = this.#records.get(buildKey(upload));
    if (!entry || entry.record.completedAt !== null || entry.record.jobId !== null) return false;
    entry.record.cancelled = true;
    entry.stop.abort(new ApiError('conflict', 'The upload was cancelled. Start it again.'));
    return true;
  }

  #trim(): void {
    const ended = [...this.#records.values()].filter(
      ({ record }) => record.completedAt !== null || record.jobId !== null,
    );
    for (const { record } of ended.slice(0, Math.max(0, this.#records.size - EXCHANGE_LIMITS.uploadRecords)))
      this.#records.delete(buildKey(record));
  }
}

/** Key of an upload. Ids are scoped to a caller, so callers cannot learn the ids of other callers. */
function buildKey({ uploadId, submitter }: UploadName): string {
  return `${submitter.owner} ${uploadId}`;
}

/** One upload, as reported by its receiver. */
export class ImportUpload implements UploadWatch {
  constructor(
    private readonly record: UploadRecord,
    readonly signal: AbortSignal,
    private readonly rename: (id: string) => void,
  ) {}

  get id(): string {
    return this.record.uploadId;
  }

  field(name: string, value: string): void {
    if (name === 'uploadid' && value !== '') this.rename(value);
  }

  file(name: string, mediaType: string | undefined): void {
    this.record.fileName = name.replace(/\p{C}/gu, '').slice(0, 200);
    this.record.contentType = mediaType ?? null;
  }

  bytes(count: number): void {
    this.record.bytes += count;
  }

  /** Sets the number of bytes that have arrived. */
  arrived(bytes: number): void {
    this.record.bytes = bytes;
  }

  /** Assigns the complete file to a job. */
  passOn(jobId: string): void {
    this.record.jobId = jobId;
  }

  fail(error: unknown): void {
    this.record.completedAt = Date.now();
    this.record.error = error instanceof Error ? error.message : 'The upload failed.';
  }
}

function buildRecord({
  id,
  fileName,
  mediaType,
  offset,
  length,
  createdAt,
  jobId,
  submitter,
}: ResumableUpload): UploadRecord {
  return {
    uploadId: id,
    fileName,
    contentType: mediaType,
    bytes: offset,
    totalBytes: length,
    startedAt: createdAt,
    completedAt: null,
    error: null,
    cancelled: false,
    jobId,
    isResumable: true,
    submitter,
  };
}

function ofArrival({ bytes, totalBytes, cancelled, completedAt, error }: UploadRecord) {
  const ended: UploadState = cancelled ? 'Cancelled' : 'Failed';
  return {
    state: completedAt === null ? ('Processing' as const) : ended,
    phase: completedAt === null ? 'receive' : null,
    fraction: totalBytes > 0 ? SENT * Math.min(1, bytes / totalBytes) : null,
    completedAt,
    error,
    warnings: [],
  };
}

const OF_JOBS: Readonly<Record<string, UploadState>> = {
  Queued: 'Queued',
  Running: 'Processing',
  Succeeded: 'Completed',
  Cancelled: 'Cancelled',
};

function ofJob(job: JobRow) {
  const done = job.state === 'Succeeded' ? 1 : (job.fraction ?? 0);
  return {
    state: OF_JOBS[job.state] ?? ('Failed' as const),
    phase: job.phase,
    fraction: SENT + (1 - SENT) * done,
    completedAt: job.completed_at,
    error: job.failure_message,
    warnings: JSON.parse(job.warnings_json) as string[],
  };
}
