import type { StorageTasks } from '../../core/sources/storage.js';
import { listObjectKeys, put, read, readObjectHead, remove } from '../storage/s3.js';
import { Cancellation } from '../threads/cancellation.js';
import { runTaskBody } from '../threads/failure.js';
import type { OneThreadMessage } from '../threads/one-thread.js';
import { moved } from '../threads/thread.js';

/** Thread side of the object store: sums, signatures and ciphers of large files keep no request waiting here. */

const TASKS: {
  [N in keyof StorageTasks]: (
    input: StorageTasks[N]['input'],
    cancellation: Cancellation,
  ) => Promise<StorageTasks[N]['output']>;
} = {
  'storage.put': put,
  'storage.stat': readObjectHead,
  'storage.read': read,
  'storage.remove': remove,
  'storage.list': listObjectKeys,
};

export default async function runTask({ name, input, flag }: OneThreadMessage<keyof StorageTasks>) {
  return moved(await runTaskBody<unknown>(() => TASKS[name](input as never, new Cancellation(flag))));
}
