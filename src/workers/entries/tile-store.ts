import { parentPort, workerData } from 'node:worker_threads';
import type {
  TileStoreData,
  TileStoreReady,
  TileStoreReply,
  TileStoreRequest,
} from '../tiles/store/protocol.js';
import { TileStore } from '../tiles/store/store.js';

/** The thread that owns the tiles on disk. Requests run in the order in which they arrive. */

const port = parentPort!;

function answerTo(store: TileStore, request: TileStoreRequest): unknown {
  switch (request.type) {
    case 'read':
      return store.read(request.key);
    case 'write':
      return store.write(request.tiles);
    case 'drop':
      return store.drop(request.pattern);
    case 'count':
      return store.count();
    case 'close':
      return store.close();
  }
}

function replyTo(store: TileStore, request: TileStoreRequest): TileStoreReply {
  try {
    return { id: request.id, value: answerTo(store, request) };
  } catch (error) {
    return { id: request.id, error: String(error) };
  }
}

try {
  const { file, maxBytes } = workerData as TileStoreData;
  const store = new TileStore(file, maxBytes);
  port.postMessage({ opened: true } satisfies TileStoreReady);
  port.on('message', (request: TileStoreRequest) => {
    port.postMessage(replyTo(store, request));
    if (request.type === 'close') port.close();
  });
} catch (error) {
  port.postMessage({ opened: false, message: String(error) } satisfies TileStoreReady);
}
