/** Remote files that are read, in their present state, as far as that is known. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import { boundedCache } from '../../../../core/values/bounded-cache.js';
import type { AllowedHosts } from '../../../storage/remote/allowed-hosts.js';
import { REMOTE_HEAD_BYTES, RemoteFile } from './file.js';
import { RemotePauses } from './pauses.js';
import type { RemoteAddress } from './protocol.js';
import type { RangeProxy } from './proxy.js';

/**
 * Maximum number of cached files: the number in the largest mosaic (2000 scenes of 32 assets), which reads any of
 * them at any time.
 */
const FILES = 65_536;
/** Maximum number of heads in memory, at most 32 MiB. All files have a head when they are opened. */
const HEADS = (32 << 20) / REMOTE_HEAD_BYTES;
/** Milliseconds after which a file is checked again, because GDAL's cached blocks would never show a change. */
const FRESH_MS = 60_000;

interface Known {
  file: Promise<RemoteFile>;
  lookedAt: number;
}

/** Cache of remote files. The proxy serves only cached files. */
export class RemoteFiles {
  /** Files by address, which includes the credentials. */
  readonly #files = boundedCache<string, Known>(FILES, {
    dispose: (entry, _, reason) => reason === 'evict' && this.#forget(entry),
  });
  readonly #heads = boundedCache<RemoteFile, true>(HEADS, { dispose: (_, file) => file.dropHead() });
  readonly #pauses = new RemotePauses();

  constructor(
    readonly allowed: AllowedHosts,
    readonly proxy: RangeProxy,
  ) {}

  /**
   * Returns the current state of a file. Rejects like `readRange`, or with the former failure while the file is
   * paused.
   */
  async current(address: RemoteAddress): Promise<RemoteFile> {
    const key = buildKey(address);
    const host = chooseHost(address);
    this.#pauses.checkFile(key);
    const before = this.#files.get(key);
    const file = await before?.file;
    if (file) this.#heads.get(file);
    const isFresh = before && file && !file.changed && Date.now() - before.lookedAt < FRESH_MS;
    if (!isFresh && this.#files.peek(key) !== before) return this.current(address);
    this.#pauses.checkHost(host, isFresh === true);
    return isFresh ? file : this.#look(address, file);
  }

  /** Checks a file. An unchanged file remains the same object, so its readers continue. */
  #look(address: RemoteAddress, before: RemoteFile | undefined): Promise<RemoteFile> {
    const key = buildKey(address);
    const host = chooseHost(address);
    const opening = RemoteFile.open(address, this.allowed).then(
      (now) => {
        this.#pauses.afterSuccess(host);
        if (before && !before.changed && before.revision === now.revision) {
          before.takeHead(now);
          this.#heads.set(before, true);
          return before;
        }
        if (before) this.#remove(before);
        this.proxy.add(now);
        this.#heads.set(now, true);
        return now;
      },
      (error: unknown) => {
        if (before) this.#remove(before);
        if (this.#files.peek(key)?.file === opening) this.#files.delete(key);
        this.#pauses.afterFailure('look', host, key, error);
        throw error;
      },
    );
    this.#files.set(key, { file: opening, lookedAt: Date.now() });
    return opening;
  }

  #forget({ file }: Known): void {
    file.then(
      (one) => this.#remove(one),
      () => {},
    );
  }

  #remove(file: RemoteFile): void {
    this.proxy.remove(file);
    this.#heads.delete(file);
  }

  /** Records the failure of a read. */
  noteFailure({ address, failure }: RemoteFile): void {
    if (failure) this.#pauses.afterFailure('read', chooseHost(address), buildKey(address), failure);
  }
}

const buildKey = ({ url, credentials, isAnonymous }: RemoteAddress) =>
  JSON.stringify([url, isAnonymous ?? credentials ?? null]);

function chooseHost({ url }: RemoteAddress): string {
  if (!URL.canParse(url)) throw new TaskFailure('invalid-input', 'The source is not a URL.');
  return new URL(url).host;
}
