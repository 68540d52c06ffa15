import { AsyncLocalStorage } from 'node:async_hooks';

/** A request to a federated source. */
export interface RemoteRead {
  /** Id of the source. */
  readonly source: string;
  readonly outcome: 'success' | 'failure';
  readonly durationMs: number;
  /** Number of features in the response. */
  readonly rows: number;
}

/** A task or a request while it runs: the owner of its statements, and of the resources that it opens. */
export class TaskScope {
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now();
  endedAt: number | undefined;
  /** Milliseconds of its statements. */
  databaseMs = 0;
  /** Requests to federated sources. */
  readonly remoteReads: RemoteRead[] = [];

  constructor(
    readonly name: string,
    /** Correlation id of the request that it runs for. */
    readonly request?: string,
  ) {}
}

/** Resources that are kept and taken together, such as a dataset and the views of it. */
export class HoldGroup {
  owner: TaskScope | undefined = currentTask();
  keptBy: string | undefined;

  /** A cache keeps the resources until a task takes them. */
  keep(cache: string): void {
    this.keptBy = cache;
    this.owner = undefined;
  }

  /** The running task has the resources. */
  take(): void {
    this.keptBy = undefined;
    this.owner = currentTask();
  }
}

interface Context {
  readonly task: TaskScope | undefined;
  /** Group of the resources that are opened. Default: each resource is its own group. */
  readonly group?: HoldGroup | undefined;
}

const contexts = new AsyncLocalStorage<Context>();

/** Runs a task in its scope, and notes its end. */
export async function inTaskScope<T>(task: TaskScope, run: () => T | Promise<T>): Promise<T> {
  try {
    return await contexts.run({ task }, run);
  } finally {
    task.endedAt = Date.now();
  }
}

/** Runs work of a request, whose statements carry its correlation id. */
export function inRequestScope<T>(task: TaskScope, run: () => T): T {
  return contexts.run({ task }, run);
}

/** Runs work whose resources belong to a group. */
export function inHoldGroup<T>(group: HoldGroup, run: () => T): T {
  return contexts.run({ task: currentTask(), group }, run);
}

export const currentTask = (): TaskScope | undefined => contexts.getStore()?.task;

export const currentHoldGroup = (): HoldGroup | undefined => contexts.getStore()?.group;
