import { TaskFailure } from '../../core/errors/failure.js';
import { BACKGROUND, type Caller } from '../../core/kit/callers.js';
import { LIMITS } from '../../core/kit/limits.js';
import { estimateCost, isHeavy } from '../../core/tasks/task-costs.js';
import type { TaskName, TaskOptions } from '../../core/tasks/tasks.js';

/** Milliseconds after which a client is advised to send its request again. */
const RETRY_MS = 2000;

/** Judges tasks by their estimated cost before they wait, and bounds the heavy requests of each anonymous address. */
export class Admission {
  /** Running tasks by request, by address. A request may run several tasks at the same time. */
  readonly #addresses = new Map<string, Map<Caller, number>>();

  constructor(private readonly heavyPerAddress: number) {}

  /** Runs a task with its options, in which `heavy` is set. Rejects with `too-many` or `too-large` before it starts. */
  run<T>(
    name: TaskName,
    input: unknown,
    options: TaskOptions | undefined,
    start: (options: TaskOptions | undefined) => Promise<T>,
  ): Promise<T> {
    const cost = estimateCost(name, input);
    if (!isHeavy(cost)) return start(options);
    const { caller = BACKGROUND, begun = false } = options ?? {};
    const heavy = { ...options, heavy: true };
    if (caller.class !== 'anonymous') return start(heavy);
    if (!begun) {
      const refusal = costRefusal(cost.steps) ?? this.#refusal(caller);
      if (refusal) return Promise.reject(refusal);
    }
    const leave = this.#enter(caller);
    return start(heavy).finally(leave);
  }

  #refusal(caller: Caller): TaskFailure | undefined {
    const requests = this.#addresses.get(caller.id);
    if (!requests || requests.has(caller) || requests.size < this.heavyPerAddress) return undefined;
    const message = `The IP address ${caller.id} has ${requests.size} heavy requests in progress. Without a key at most ${this.heavyPerAddress} are allowed. Retry after one of them has ended.`;
    return new TaskFailure('too-many', message, undefined, RETRY_MS);
  }

  #enter(caller: Caller): () => void {
    let requests = this.#addresses.get(caller.id);
    if (!requests) this.#addresses.set(caller.id, (requests = new Map()));
    requests.set(caller, (requests.get(caller) ?? 0) + 1);
    return () => this.#leave(caller);
  }

  #leave(caller: Caller): void {
    const requests = this.#addresses.get(caller.id)!;
    const left = requests.get(caller)! - 1;
    if (left > 0) return void requests.set(caller, left);
    requests.delete(caller);
    if (requests.size === 0) this.#addresses.delete(caller.id);
  }
}

function costRefusal(steps: number): TaskFailure | undefined {
  if (steps <= LIMITS.anonymousSteps) return undefined;
  return new TaskFailure(
    'too-large',
    `The request would evaluate about ${steps.toExponential(1)} conditions on rows. Without a key at most ${LIMITS.anonymousSteps} are allowed. Narrow it with bbox or a filter on fewer fields, or send a key.`,
  );
}
