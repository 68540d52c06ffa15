/** Files and hosts that failed, to which no requests are sent for a while. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import { boundedCache } from '../../../../core/values/bounded-cache.js';
import { HostAway } from '../../../storage/remote/range.js';

/** Milliseconds without requests to an unavailable host. */
const HOST_MS = 3000;
/**
 * Milliseconds without requests for a file that failed. The time doubles with each failure, up to `most`, until there
 * is none for `forget`.
 */
const FILE_MS = { least: 3000, most: 60_000, forget: 300_000 };
const FILES = 20_000;
const HOSTS = 1000;
/** So many files of one host that fail one after the other are the host's fault. */
const IN_A_ROW = 8;

interface Pause {
  until: number;
  ms: number;
  failure: TaskFailure;
}

interface HostPause extends Pause {
  /** Whether the pause also applies to files whose head is in memory, because the head was not enough. */
  isOfAll: boolean;
}

/** Step that failed: to open a file, or to read more of an open file. */
export type RemoteStep = 'look' | 'read';

export class RemotePauses {
  readonly #files = boundedCache<string, Pause>(FILES, { ttl: FILE_MS.forget });
  readonly #hosts = boundedCache<string, HostPause>(HOSTS);
  /** Files of each host that failed since one could be opened. */
  readonly #rows = boundedCache<string, Set<string>>(HOSTS);

  /** Throws the failure of a paused file. */
  checkFile(file: string): void {
    check(this.#files.get(file));
  }

  /** Throws the failure of a paused host. Files in memory are paused only if their memory was not enough. */
  checkHost(host: string, isInMemory: boolean): void {
    const pause = this.#hosts.get(host);
    if (!isInMemory || pause?.isOfAll) check(pause);
  }

  /** Starts a pause. Only for temporary failures. */
  afterFailure(step: RemoteStep, host: string, file: string, error: unknown): void {
    if (!(error instanceof TaskFailure) || error.code !== 'store-unavailable') return;
    const before = this.#files.get(file);
    // The same failure was reported twice.
    if (before?.failure === error) return;
    const isHost = error instanceof HostAway;
    if (isHost) this.#pauseHost(host, error, step === 'read');
    else this.#count(host, file, error);
    if (before && before.until > Date.now()) return;
    const ms = before && !isHost ? Math.min(FILE_MS.most, 2 * before.ms) : FILE_MS.least;
    this.#files.set(file, { until: Date.now() + ms, ms, failure: error });
  }

  afterSuccess(host: string): void {
    this.#rows.delete(host);
  }

  #count(host: string, file: string, failure: TaskFailure): void {
    const row = this.#rows.get(host) ?? new Set();
    if (row.size < IN_A_ROW) row.add(file);
    this.#rows.set(host, row);
    if (row.size === IN_A_ROW) this.#pauseHost(host, failure, false);
  }

  #pauseHost(host: string, failure: TaskFailure, isOfAll: boolean): void {
    this.#hosts.set(host, { until: Date.now() + HOST_MS, ms: HOST_MS, failure, isOfAll });
  }
}

function check(pause: Pause | undefined): void {
  if (pause && pause.until > Date.now()) throw pause.failure;
}
