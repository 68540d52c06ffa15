/** Messages between the raster thread and the thread that reads remote files. */

import type { FailureMessage } from '../../../../core/errors/failure.js';
import type { StoreCredentials } from '../../../../core/sources/object-stores.js';
import type { TaskResponse } from '../../../threads/failure.js';

/** URL and the credentials that read it. Default: the credentials of the environment. */
export interface RemoteAddress {
  url: string;
  credentials?: StoreCredentials;
  /** Not even with the credentials of the environment. */
  isAnonymous?: true;
}

/** `look`: about an address. `state`: about a name that a look gave. */
export type Question = { task: 'look'; about: RemoteAddress } | { task: 'state'; about: string };

export type ReaderRequest = Question & { id: number };

export interface ReaderReply {
  id: number;
  answer: TaskResponse;
}

/** A file in its present state. */
export interface RemoteName {
  /** GDAL's name of it. */
  name: string;
  /** Origin of the server to which GDAL sends its requests. */
  origin: string;
  /** Identifies the state of the file. */
  revision: string;
}

export interface FileState {
  /** Why the last read failed. */
  failure?: FailureMessage;
  /** Whether the file has changed. */
  changed: boolean;
}
