import { TaskFailure } from '../../../../core/failure.js';
import type { StoreCredentials } from '../../../../core/object-stores.js';
import type { AllowedHosts } from '../../../remote/allowed.js';
import { type Range, type RangeAnswer, readRange } from '../../../remote/range.js';

/** What is read of a file when it is opened: enough for the directory of most. */
const HEAD_BYTES = 65_536;

/** One state of a file that is read by ranges over HTTP. */
export class RemoteFile {
  /** Why the last read failed. */
  failure: TaskFailure | undefined;
  /** The file is not what it was when it was opened. */
  changed = false;

  private constructor(
    readonly url: string,
    readonly allowed: AllowedHosts,
    readonly head: RangeAnswer,
    private readonly credentials: StoreCredentials | 'none' | undefined,
  ) {}

  /** Rejects as `readRange` does. */
  static async open(
    url: string,
    allowed: AllowedHosts,
    credentials: StoreCredentials | 'none' | undefined,
  ): Promise<RemoteFile> {
    const head = await readRange(url, { offset: 0, length: HEAD_BYTES }, allowed, credentials);
    return new RemoteFile(url, allowed, head, credentials);
  }

  get size(): number {
    return this.head.size;
  }

  /** Tells this state of the file from others. */
  get revision(): string {
    return this.head.revision;
  }

  /** Exactly these bytes. Rejects with `TaskFailure`, which stays in `failure` until a read succeeds. */
  async read(range: Range): Promise<Uint8Array> {
    const { data } = this.head;
    if (range.offset + range.length <= data.length)
      return data.subarray(range.offset, range.offset + range.length);
    try {
      const answer = await readRange(this.url, range, this.allowed, this.credentials);
      if (answer.revision !== this.revision || answer.size !== this.size) {
        this.changed = true;
        throw new TaskFailure('source-unreadable', 'The remote source changed while it was read.');
      }
      this.failure = undefined;
      return answer.data;
    } catch (error) {
      this.failure = error as TaskFailure;
      throw error;
    }
  }
}
