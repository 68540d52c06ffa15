/**
 * Thread that reads remote files for GDAL. It is separate from the raster thread, because some of GDAL's calls block
 * that thread while they wait for these responses.
 */

import { parentPort, workerData } from 'node:worker_threads';
import type { FailureMessage } from '../../../../core/errors/failure.js';
import { AllowedHosts } from '../../../storage/remote/allowed-hosts.js';
import { failureMessage, runTaskBody } from '../../../threads/failure.js';
import { RemoteFiles } from './files.js';
import type { FileState, ReaderRequest, RemoteAddress, RemoteName } from './protocol.js';
import { RangeProxy } from './proxy.js';

const readers = RangeProxy.start().then((proxy) => ({
  proxy,
  files: new RemoteFiles(new AllowedHosts(workerData as string[]), proxy),
}));

const TASKS = {
  look: async (address: RemoteAddress): Promise<RemoteName> => {
    const { proxy, files } = await readers;
    const file = await files.current(address);
    return { name: proxy.nameOf(file), origin: proxy.origin, revision: file.revision };
  },
  state: async (name: string): Promise<FileState> => {
    const { proxy, files } = await readers;
    const file = proxy.fileOf(name);
    if (file) files.noteFailure(file);
    const failure: FailureMessage | undefined = file?.failure && failureMessage(file.failure);
    return { changed: !file || file.changed, ...(failure && { failure }) };
  },
};

parentPort!.on('message', async ({ id, ...asked }: ReaderRequest) => {
  const work = (): Promise<unknown> =>
    asked.task === 'look' ? TASKS.look(asked.about) : TASKS.state(asked.about);
  parentPort!.postMessage({ id, answer: await runTaskBody(work) });
});
