import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openState, type State } from '../../src/stores/state.js';
import { compile } from './compile.js';

let script: URL | undefined;

/** Script of the state thread, compiled for tests. */
export function stateWorker(): URL {
  script ??= compile('src/workers/state/worker.ts');
  return script;
}

export interface TemporaryState {
  state: State;
  directory: string;
  /** Opens the same file once more, as another process would. */
  again(): Promise<State>;
  close(): Promise<void>;
}

/** A state database of its own in a temporary directory. */
export async function temporaryState(): Promise<TemporaryState> {
  const directory = await mkdtemp(join(tmpdir(), 'graticule-state-'));
  const path = join(directory, 'state.db');
  const open = await openState(path, stateWorker());
  const others: State[] = [];
  return {
    state: open,
    directory,
    async again() {
      const other = await openState(path, stateWorker());
      others.push(other);
      return other;
    },
    async close() {
      for (const state of [...others, open]) await state.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
