/** Messages between the raster thread and the thread that reads remote files. */

import type { FailureMessage } from '../../../../core/failure.js';
import type { Answer } from '../../../failure.js';

export interface Asked {
  id: number;
  /** `look`: about a URL. `state`: about a name that a look gave. */
  task: 'look' | 'state';
  about: string;
}

export interface Answered {
  id: number;
  answer: Answer;
}

/** A file in its present state. */
export interface RemoteName {
  /** GDAL's name of it. */
  name: string;
  /** Of the server that GDAL asks. */
  origin: string;
  /** Tells this state of the file from others. */
  revision: string;
}

export interface FileState {
  /** Why the last read failed. */
  failure?: FailureMessage;
  /** The file is not what it was. */
  changed: boolean;
}
