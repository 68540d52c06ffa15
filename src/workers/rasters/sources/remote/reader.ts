/** The raster thread's side of the thread that reads remote files, which starts with the first of them. */

import { Worker } from 'node:worker_threads';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { REMOTE_ALLOW_VARIABLE } from '../../../engine/settings.js';
import { gdal } from '../../../gdal/gdal.js';
import { failureFrom } from '../../../threads/failure.js';
import type {
  FileState,
  Question,
  ReaderReply,
  ReaderRequest,
  RemoteAddress,
  RemoteName,
} from './protocol.js';

interface Waiter {
  resolve(value: unknown): void;
  reject(error: TaskFailure): void;
}

let thread: Worker | undefined;
let count = 0;
const waiting = new Map<number, Waiter>();

/** Returns the current file at an address. Rejects with `TaskFailure`. */
export async function lookAt({ url, credentials, isAnonymous }: RemoteAddress): Promise<RemoteName> {
  const about = { url, ...(credentials && { credentials }), ...(isAnonymous && { isAnonymous }) };
  const remote = await ask<RemoteName>({ task: 'look', about });
  for (const name of ['GDAL_HTTP_PROXY', 'GDAL_HTTPS_PROXY']) gdal.config.set(name, remote.origin);
  return remote;
}

/** Returns the state of a file that was opened before. */
export function readFileState(name: string): Promise<FileState> {
  return ask<FileState>({ task: 'state', about: name });
}

function ask<T>(asked: Question): Promise<T> {
  thread ??= start();
  const id = ++count;
  const question: ReaderRequest = { id, ...asked };
  return new Promise<T>((resolve, reject) => {
    waiting.set(id, { resolve: resolve as Waiter['resolve'], reject });
    thread!.postMessage(question);
  });
}

function start(): Worker {
  const started = new Worker(new URL('./thread.js', import.meta.url), {
    workerData: JSON.parse(process.env[REMOTE_ALLOW_VARIABLE] ?? '[]'),
  });
  started.unref();
  started.on('message', ({ id, answer }: ReaderReply) => {
    const { resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if (answer.ok) resolve(answer.value);
    else reject(failureFrom(answer.failure));
  });
  // The next caller starts another thread.
  started.on('error', (error) => {
    thread = undefined;
    for (const { reject } of waiting.values())
      reject(new TaskFailure('worker-lost', 'The reader of remote files was lost.', String(error)));
    waiting.clear();
  });
  return started;
}
