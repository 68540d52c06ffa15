import type { Log } from '../../telemetry/log.js';
import { exception } from '../../telemetry/log.js';
import type { FindingActions } from '../findings/finding-actions.js';

const LOOP_MS = 60_000;

/**
 * Lets policies act once a minute. It runs in one process of each server. Servers agree in the state: a finding has one
 * open proposal, and the budget counts it once.
 */
export class PolicyLoop {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    private readonly actions: Pick<FindingActions, 'actByPolicies'>,
    private readonly log: Pick<Log, 'write'>,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.run(), LOOP_MS).unref();
  }

  /** Acts now. A call during another one waits for it. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#act().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Resolves when the last run has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #act(): Promise<void> {
    try {
      for (const { findingId, status, proposalId, operationId } of await this.actions.actByPolicies()) {
        if (status !== 'Executed' || operationId === undefined) continue;
        this.log.write('operate.policy.acted', {
          Finding: findingId,
          Proposal: proposalId,
          Job: operationId,
        });
      }
    } catch (error) {
      this.log.write('operate.policies.failed', exception(error));
    }
  }
}
