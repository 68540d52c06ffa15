/**
 * The thread that reads remote files for GDAL. Not the raster thread: some of GDAL's calls hold that one up while they
 * wait for what this one answers.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { type FailureMessage, TaskFailure } from '../../../../core/failure.js';
import { answer, failureMessage } from '../../../failure.js';
import { AllowedHosts } from '../../../remote/allowed.js';
import { HEAD_BYTES, RemoteFile } from './file.js';
import { Pauses } from './pauses.js';
import type { Asked, FileState, RemoteAddress, RemoteName } from './protocol.js';
import { RangeProxy } from './proxy.js';

/** Files that are remembered: as many as the largest mosaic has (2000 scenes of 32 assets), because it reads any of them at any time. */
const FILES = 65_536;
/** Heads that are in memory, 32 MiB at most: all files have one when they are opened. */
const HEADS = (32 << 20) / HEAD_BYTES;
/** A file is looked at again when this much time has passed: what GDAL has in memory would never show a change. */
const FRESH_MS = 60_000;

interface Known {
  file: Promise<RemoteFile>;
  lookedAt: number;
}

const allowed = new AllowedHosts(workerData as string[]);
const proxy = await RangeProxy.start();
/** By address: who may read a file is a part of it. */
const files = new LRUCache<string, Known>({
  max: FILES,
  dispose: (entry, _, reason) => reason === 'evict' && forget(entry),
});
const heads = new LRUCache<RemoteFile, true>({ max: HEADS, dispose: (_, file) => file.dropHead() });
const pauses = new Pauses();

const TASKS = {
  look: async (address: RemoteAddress): Promise<RemoteName> => {
    const file = await current(address);
    return { name: proxy.nameOf(file), origin: proxy.origin, revision: file.revision };
  },
  state: async (name: string): Promise<FileState> => {
    const file = proxy.fileOf(name);
    if (file?.failure) pauses.afterFailure('read', hostOf(file.address), keyOf(file.address), file.failure);
    const failure: FailureMessage | undefined = file?.failure && failureMessage(file.failure);
    return { changed: !file || file.changed, ...(failure && { failure }) };
  },
};

parentPort!.on('message', async ({ id, ...asked }: Asked) => {
  const work = (): Promise<unknown> =>
    asked.task === 'look' ? TASKS.look(asked.about) : TASKS.state(asked.about);
  parentPort!.postMessage({ id, answer: await answer(work) });
});

async function current(address: RemoteAddress): Promise<RemoteFile> {
  const key = keyOf(address);
  const host = hostOf(address);
  pauses.checkFile(key);
  const before = files.get(key);
  const file = await before?.file;
  if (file) heads.get(file);
  const isFresh = before && file && !file.changed && Date.now() - before.lookedAt < FRESH_MS;
  if (!isFresh && files.peek(key) !== before) return current(address);
  pauses.checkHost(host, isFresh === true);
  return isFresh ? file : look(address, file);
}

const keyOf = ({ url, credentials, isAnonymous }: RemoteAddress) =>
  JSON.stringify([url, isAnonymous ?? credentials ?? null]);

/** A file that is as it was stays the same object, so that those who read it go on. */
function look(address: RemoteAddress, before: RemoteFile | undefined): Promise<RemoteFile> {
  const key = keyOf(address);
  const host = hostOf(address);
  const opening = RemoteFile.open(address, allowed).then(
    (now) => {
      pauses.afterSuccess(host);
      if (before && !before.changed && before.revision === now.revision) {
        before.takeHead(now);
        heads.set(before, true);
        return before;
      }
      if (before) remove(before);
      proxy.add(now);
      heads.set(now, true);
      return now;
    },
    (error: unknown) => {
      if (before) remove(before);
      if (files.peek(key)?.file === opening) files.delete(key);
      pauses.afterFailure('look', host, key, error);
      throw error;
    },
  );
  files.set(key, { file: opening, lookedAt: Date.now() });
  return opening;
}

function forget({ file }: Known): void {
  file.then(remove, () => {});
}

function remove(file: RemoteFile): void {
  proxy.remove(file);
  heads.delete(file);
}

function hostOf({ url }: RemoteAddress): string {
  if (!URL.canParse(url)) throw new TaskFailure('invalid-input', 'The source is not a URL.');
  return new URL(url).host;
}
