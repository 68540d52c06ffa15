import type { Config } from '../../../core/config/config.js';
import type { Principal } from '../../../core/http/operation.js';
import { sharesOrigin } from '../../../services/access/origins.js';
import type { PresentRights } from '../../../services/access/rules/present-rights.js';
import { createAlertActuators } from '../../../services/alerts/actuators.js';
import { createSourceActuator } from '../../../services/catalog/actuators.js';
import { createRedriveActuator } from '../../../services/deliveries/actuators.js';
import { createDeployActuator } from '../../../services/deploy/actuator.js';
import { Autonomy } from '../../../services/operate/autonomy/autonomy.js';
import { PolicyLoop } from '../../../services/operate/autonomy/policy-loop.js';
import { FindingActions } from '../../../services/operate/findings/finding-actions.js';
import type { Findings } from '../../../services/operate/findings/findings.js';
import { createJobActuators } from '../../../services/operate/job-actuators.js';
import { Ledger, type LedgerDeps } from '../../../services/operate/ledger.js';
import { createProcessActuator, EXECUTE_ACTION } from '../../../services/processes/actuator.js';
import type { ExecutionDraft } from '../../../services/processes/execution.js';
import type { Processes } from '../../../services/processes/service.js';
import { exception, type Log } from '../../../services/telemetry/log.js';
import { createTileActuators } from '../../../services/tiles/actuators.js';
import type { State } from '../../../stores/state/state.js';
import type { AdminDeps } from '../../admin/deps.js';
import { createManifestActuator } from '../../manifest/actuator.js';

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

interface WorkflowParts {
  readonly findings: Findings;
  readonly ledger: Ledger;
  readonly state: State;
  readonly log: Pick<Log, 'write'>;
  /** Whether the keys of seals are encrypted by a key outside the database. */
  readonly hasOwnKey: boolean;
}

/** Proposals from findings, and the policies that approve some of them. */
export function createWorkflow({ findings, ledger, state, log, hasOwnKey }: WorkflowParts) {
  const onError = (error: unknown) => log.write('operate.policies.failed', exception(error));
  const actions = new FindingActions({ findings, ledger, autonomy: state.autonomy, onError });
  const autonomy = new Autonomy({
    ...{ store: state.autonomy, rules: findings.rules, hasOwnKey },
    countByRule: () => state.proposals.countByRule(),
  });
  return { actions, autonomy, loop: new PolicyLoop(actions, log) };
}

interface ActuatorParts {
  readonly processes: Processes;
  readonly presentRights: Pick<PresentRights, 'of'>;
  readonly config: Pick<Config, 'events'>;
}

/** Adds the actuators of all capabilities. */
export function registerActuators(
  ledger: Ledger,
  deps: AdminDeps,
  { processes, presentRights, config }: ActuatorParts,
): void {
  const { state, jobs, sources, alertDispatch, tileJobs, cache, catalog } = deps;
  const webhooks = createRedriveActuator({
    ...{ name: 'webhook.redrive', description: 'Sends dead letters of a webhook again' },
    ...{ permission: 'admin:feature-events:write', store: state.deliveries },
    lanes: new Map(config.events.webhooks.map(({ name }) => [name, name])),
  });
  const all = [
    createProcessActuator(processes, jobs, presentRights),
    createSourceActuator(sources),
    createDeployActuator(state),
    ...createAlertActuators(state.deliveries, alertDispatch.configured),
    webhooks,
    ...createJobActuators(jobs),
    createManifestActuator(deps),
    ...createTileActuators({ tileJobs, jobs, cache, catalog }),
  ];
  for (const actuator of all) ledger.register(actuator);
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
