import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../core/exchange/limits.js';
import { exists } from '../../core/files/exists.js';
import { makeFolder } from '../../core/files/own-folder.js';
import type { JobRow } from '../../stores/jobs/jobs.js';
import type { Submitter } from '../access/identity/submitter.js';
import { replaceFile } from '../kit/replace-file.js';
import { getFormatExtension } from '../uploads/upload.js';
import { uploadFailure } from '../uploads/upload-failure.js';
import type { ImportService } from './import.js';
import type { ImportInput } from './import-input.js';

/** Parameters that started an upload. */
export interface UploadPlan {
  readonly fileName: string;
  readonly mediaType: string | null;
  /** Bytes of the complete file. */
  readonly length: number;
  readonly input: Omit<ImportInput, 'file' | 'owned'>;
  /** Submitter of the upload. */
  readonly submitter: Submitter;
}

/** An upload on the disk, partial or complete. */
export interface ResumableUpload extends UploadPlan {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The import, once all bytes have arrived. */
  readonly jobId: string | null;
  /** Number of received bytes. */
  readonly offset: number;
  /** Milliseconds since 1970 at which it is removed, unless bytes come. */
  readonly expiresAt: number;
}

type Record = Omit<ResumableUpload, 'offset' | 'expiresAt'>;

const RECORD = 'upload.json';
const ID = /^[0-9a-f-]{36}$/;

/**
 * Files that arrive in several requests, each of which continues at the end of the stored bytes. An upload is a
 * folder with the file and a record. Every process of the server can therefore continue it, and a restart loses no
 * data. Two requests that write at the same offset write the same bytes of the client's file, so no lock is
 * necessary.
 */
export class ResumableUploads {
  readonly #folder: string;
  readonly #imports: Pick<ImportService, 'submit' | 'refuse'>;

  constructor(dataDir: string, imports: Pick<ImportService, 'submit' | 'refuse'>) {
    this.#folder = join(resolve(dataDir), 'resumable');
    this.#imports = imports;
  }

  /** Throws `conflict` where the import would be refused, `unavailable` when there are too many uploads. */
  async create(plan: UploadPlan): Promise<ResumableUpload> {
    this.#imports.refuse(plan.input);
    await this.trim();
    if ((await this.#ids()).length >= EXCHANGE_LIMITS.resumableUploads)
      throw new ApiError(
        'unavailable',
        `The server has ${EXCHANGE_LIMITS.resumableUploads} unfinished uploads. Finish or delete one first.`,
      );
    const record: Record = { ...plan, id: randomUUID(), createdAt: Date.now(), jobId: null };
    await makeFolder(this.#of(record.id), 0o700);
    await (await open(this.#fileOf(record), 'wx', 0o600)).close();
    await this.#save(record);
    return this.find(record.id);
  }

  /** The upload of its submitter. Throws `not-found` for other callers, who could otherwise add bytes to it. */
  async get(id: string, { owner }: Submitter): Promise<ResumableUpload> {
    const upload = await this.find(id);
    if (upload.submitter.owner !== owner) throw notFound('upload', id);
    return upload;
  }

  /** The upload of any submitter. Throws `not-found`. */
  async find(id: string): Promise<ResumableUpload> {
    const upload = await this.#read(id);
    // The server ended between the last byte and the job, or before the job was written down.
    return isWhole(upload) && upload.jobId === null ? this.#finish(upload) : upload;
  }

  /** The import that an upload of this caller becomes. Throws `not-found`. */
  async inputOf(id: string, { owner }: Submitter): Promise<ResumableUpload['input']> {
    const { input, submitter } = await this.#read(id);
    if (submitter.owner !== owner) throw notFound('upload', id);
    return input;
  }

  async list(): Promise<ResumableUpload[]> {
    const reads = (await this.#ids()).map((id) => this.#read(id).catch(() => undefined));
    return (await Promise.all(reads)).filter((upload) => upload !== undefined);
  }

  /**
   * Appends bytes. With the last byte, the import starts. If the request is interrupted, the received bytes are kept.
   * Throws `not-found`, `conflict` if `offset` is not the end of the stored bytes, 413 beyond the length, 507 for a
   * full disk.
   */
  async write(
    id: string,
    sender: Submitter,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<ResumableUpload> {
    const upload = await this.get(id, sender);
    if (upload.offset !== offset)
      throw new ApiError('conflict', `Upload-Offset: must be ${upload.offset}, not ${offset}.`);
    // The last bytes were sent before, and their response was lost.
    if (upload.jobId !== null) return upload;
    await append(this.#fileOf(upload), upload, bytes);
    return this.find(id);
  }

  /** Removes an upload of this caller that has not become an import. Throws `not-found`, `conflict`. */
  async remove(id: string, { owner }: Submitter): Promise<void> {
    const { jobId, submitter } = await this.#read(id);
    if (submitter.owner !== owner) throw notFound('upload', id);
    if (jobId !== null)
      throw new ApiError('conflict', `The upload has already been imported by the job ${jobId}.`);
    await rm(this.#of(id), { recursive: true, force: true });
  }

  /** Removes uploads without new bytes for a long time, and records of completed imports. */
  async trim(): Promise<void> {
    for (const id of await this.#ids()) {
      const upload = await this.#read(id).catch(() => undefined);
      // A folder without its record is being created, or was left by a crash.
      const end = upload?.expiresAt ?? (await loadExpiry(this.#of(id)));
      const isOver = Date.now() > end;
      if (!isOver || (upload?.jobId && (await exists(this.#fileOf(upload))))) continue;
      await rm(this.#of(id), { recursive: true, force: true });
    }
  }

  async #finish(upload: ResumableUpload): Promise<ResumableUpload> {
    const job = await this.#submit(upload);
    const { offset: _, expiresAt: __, ...record } = upload;
    await this.#save({ ...record, jobId: job.id });
    return { ...upload, jobId: job.id };
  }

  /** Submits the import. Repeated submissions, also by other processes, create only one job. */
  #submit(upload: ResumableUpload): Promise<JobRow> {
    const input: ImportInput = { ...upload.input, file: this.#fileOf(upload), owned: true };
    return this.#imports.submit(input, { ...upload.submitter, idempotencyKey: `upload:${upload.id}` });
  }

  async #ids(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    return names.filter((name) => ID.test(name));
  }

  async #read(id: string): Promise<ResumableUpload> {
    const text = ID.test(id)
      ? await readFile(join(this.#of(id), RECORD), 'utf8').catch(() => undefined)
      : undefined;
    if (text === undefined) throw notFound('upload', id);
    const { owner, ...record } = JSON.parse(text) as Record & { owner?: string };
    // Records of earlier releases contain only the owner.
    if (owner !== undefined) record.submitter ??= { owner };
    const file = await stat(this.#fileOf(record)).catch(() => undefined);
    // The job removes the file that it has imported.
    const offset = record.jobId === null ? (file?.size ?? 0) : record.length;
    return {
      ...record,
      offset,
      expiresAt: (file?.mtimeMs ?? record.createdAt) + EXCHANGE_LIMITS.resumableUploadMs,
    };
  }

  #save(record: Record): Promise<void> {
    return replaceFile(join(this.#of(record.id), RECORD), JSON.stringify(record));
  }

  #of(id: string): string {
    return join(this.#folder, id);
  }

  /** Path of the file. The client's name is only stored in the record, so it cannot lead to another folder. */
  #fileOf({ id, fileName }: Pick<Record, 'id' | 'fileName'>): string {
    return join(this.#of(id), `file${getFormatExtension(fileName)}`);
  }
}

function isWhole({ offset, length }: ResumableUpload): boolean {
  return offset === length;
}

async function loadExpiry(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ mtimeMs: 0 }))).mtimeMs + EXCHANGE_LIMITS.resumableUploadMs;
}

/** Appends bytes. When it returns, all bytes are on the disk. When it throws, the received bytes are. */
async function append(
  path: string,
  { offset, length }: ResumableUpload,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const file = await open(path, 'r+');
  let position = offset;
  try {
    for await (const part of bytes) {
      if (position + part.byteLength > length)
        throw new ApiError(
          'payload-too-large',
          `The upload must have ${length} bytes in all, as Upload-Length says.`,
        );
      await file.write(part, 0, part.byteLength, position);
      position += part.byteLength;
    }
  } catch (cause) {
    throw uploadFailure(cause);
  } finally {
    await file.datasync().finally(() => file.close());
  }
}
