import type { Principal } from '../../core/http/operation.js';
import { sharesOrigin } from '../../services/access/origins.js';
import { Ledger, type LedgerDeps } from '../../services/operate/ledger.js';
import { EXECUTE_ACTION } from '../../services/processes/actuator.js';
import type { ExecutionDraft } from '../../services/processes/execution.js';
import { exception, type Log } from '../../services/telemetry/log.js';
import type { State } from '../../stores/state/state.js';

interface LedgerParts extends Pick<LedgerDeps, 'jobs' | 'keys' | 'presentRights'> {
  readonly state: State;
  readonly log: Pick<Log, 'write'>;
}

/** The ledger of a server, without actuators. */
export function createLedger({ state, log, ...parts }: LedgerParts): Ledger {
  return new Ledger({
    ...parts,
    state,
    sharesOrigin: (decider, author) => sharesOrigin(decider, author, state),
    onError: (error) => log.write('job.engine.failed', exception(error)),
  });
}

/** Proposes an execution of a process, and returns the id of the proposal. */
export async function proposeExecution(
  ledger: Ledger,
  parameters: ExecutionDraft,
  requester: Principal,
): Promise<string> {
  const { row } = await ledger.propose({ actuator: EXECUTE_ACTION, parameters, requester });
  return row.id;
}
