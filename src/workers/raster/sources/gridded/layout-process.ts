/**
 * Reads a layout in a process of its own. GDAL's multidimensional objects keep a file open until they are collected,
 * and HDF5 gives every reader in a process what it remembers of an open file, however it has changed. A file that
 * crashes its library takes nothing else with it.
 */

import { fork } from 'node:child_process';
import { TaskFailure } from '../../../../core/tasks.js';
import { type Answer, failureFrom } from '../../../failure.js';
import type { Layout } from './layout.js';

export interface LayoutRequest {
  path: string;
  driver: string;
}

const DEADLINE_MS = 30_000;

export function readLayout(request: LayoutRequest): Promise<Layout> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('./layout-main.js', import.meta.url), {
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    let result: Answer<Layout> | undefined;
    const timer = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
    child.on('message', (message) => {
      result = message as Answer<Layout>;
    });
    child.on('error', () => {});
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (result?.ok) resolve(result.value);
      else if (result) reject(failureFrom(result.failure));
      else reject(new TaskFailure('source-unreadable', 'The file crashed its reader.', `${code ?? signal}`));
    });
    child.send(request);
  });
}
