import { TaskFailure } from '../../../../core/errors/failure.js';
import type { AllowedHosts } from '../../../storage/remote/allowed-hosts.js';
import { type RangeAnswer, type RemoteRange, readRange } from '../../../storage/remote/range.js';
import type { RemoteAddress } from './protocol.js';

/** Bytes that are read when a file is opened: enough for the directory of most files. */
export const REMOTE_HEAD_BYTES = 65_536;

/** One state of a file that is read by ranges over HTTP. */
export class RemoteFile {
  /** Why the last read failed. */
  failure: TaskFailure | undefined;
  /** Whether the file changed since it was opened. */
  changed = false;

  readonly size: number;
  /** Identifies the state of the file. */
  readonly revision: string;
  #head: Uint8Array | undefined;

  private constructor(
    readonly address: RemoteAddress,
    readonly allowed: AllowedHosts,
    { size, revision, data }: RangeAnswer,
  ) {
    this.size = size;
    this.revision = revision;
    this.#head = data;
  }

  /** Rejects as `readRange` does. */
  static async open(address: RemoteAddress, allowed: AllowedHosts): Promise<RemoteFile> {
    return new RemoteFile(
      address,
      allowed,
      await readAt(address, { offset: 0, length: REMOTE_HEAD_BYTES }, allowed),
    );
  }

  /** Has the head that the same state was opened with again. */
  takeHead(other: RemoteFile): void {
    this.#head = other.#head;
  }

  /** Frees the memory of the head. It is requested from the host again when it is needed. */
  dropHead(): void {
    this.#head = undefined;
  }

  /** Exactly these bytes. Rejects with `TaskFailure`, which stays in `failure` until a read succeeds. */
  async read(range: RemoteRange): Promise<Uint8Array> {
    const head = this.#head;
    if (head && range.offset + range.length <= head.length)
      return head.subarray(range.offset, range.offset + range.length);
    try {
      const answer = await readAt(this.address, range, this.allowed);
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

function readAt({ url, isAnonymous, credentials }: RemoteAddress, range: RemoteRange, allowed: AllowedHosts) {
  return readRange(url, range, allowed, isAnonymous ? 'none' : credentials);
}
