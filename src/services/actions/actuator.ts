import type { TSchema } from 'typebox';
import { fieldFailure } from '../../core/errors/errors.js';
import { problem } from '../../core/http/body-problems.js';
import type { Principal } from '../../core/http/operation.js';
import type { ActionPlan, Precondition, ProposalKind } from '../../core/operate/proposals.js';
import type { AtomicStores } from '../../stores/state/state.js';

/** Outcome of one check whether an action has had its effect. */
export interface Verification {
  /** `pending`: the effect can still come. `failed`: the action ended without an effect, so an undo is not necessary. */
  readonly state: 'verified' | 'pending' | 'failed';
  /** Evidence for the receipt, as one sentence. */
  readonly message: string;
}

/** Approved action that an actuator executes. */
export interface ApprovedAction {
  readonly proposalId: string;
  /** Id of the job that executes the proposal. Jobs and requests of the action use it as their idempotency key. */
  readonly operationId: string;
  /** Caller who proposed it. Undefined: the server itself, from a finding. */
  readonly requester: Principal | undefined;
  /** Caller who approved it. Undefined: a policy. */
  readonly approver: Principal | undefined;
  /** Caller or policy that approved it, in the notation of `formatActor`. */
  readonly approvedBy: string;
  readonly signal: AbortSignal;
}

/** A typed action that one caller proposes and another approves, and that the server then executes and verifies. */
interface ActuatorBase<P> {
  readonly kind: ProposalKind;
  /** Name such as `source.reload`. */
  readonly name: string;
  /** Changes with every change of the meaning of the parameters. A server executes only versions that it knows. */
  readonly version: number;
  /** One sentence about the action. */
  readonly description: string;
  /** Schema of the parameters, an object. */
  readonly parameters: TSchema;
  /** Permission of the operation with the same effect. The approver must have it. */
  readonly permission: string;
  /** Permission that a caller needs to propose the action. Default: `permission` with the verb `read`. */
  readonly proposePermission?: string;
  /** Computes the effects for the approver. Throws `ApiError` if the action is not possible now. */
  plan(parameters: P, requester: Principal | undefined): Promise<ActionPlan>;
  /**
   * States of all resources that the action relies on, and of no further ones. `stores`: stores of the transaction that acts;
   * undefined outside a transaction.
   */
  preconditions(parameters: P, stores: AtomicStores | undefined): Promise<readonly Precondition[]>;
  /** Work after the commit. Repeated calls must have no effect. */
  follow?(parameters: P, result: unknown): Promise<void>;
  /** Whether the system has reached the state that the action promises. `result` is the value that `act` returned. */
  verify(parameters: P, result: unknown, action: ApprovedAction): Promise<Verification>;
  /** Milliseconds within which the effect must come. */
  readonly verifyMs: number;
  /**
   * Restores the state before the action. Absent: the backend has not shown that it can. Afterwards the ledger compares
   * the preconditions again, and reports a rollback only if they are as before. Repeated calls must have no effect.
   */
  undo?(parameters: P, result: unknown, action: ApprovedAction): Promise<void>;
  /** Instructions for operators if the effect does not come. */
  readonly remedy: string;
}

/** The effect is in the state database. The ledger compares the preconditions, acts and notes it in one transaction. */
interface StateActuator<P> extends ActuatorBase<P> {
  readonly acts: 'in-transaction';
  act(parameters: P, action: ApprovedAction, stores: AtomicStores): Promise<unknown>;
}

/**
 * The effect is in a transaction of the state database that the actuator opens. The ledger compares the preconditions
 * directly before it. The actuator must call `record` in the transaction; if it throws, nothing may be written.
 */
interface RecordingActuator<P> extends ActuatorBase<P> {
  readonly acts: 'in-own-transaction';
  act(
    parameters: P,
    action: ApprovedAction,
    record: (stores: AtomicStores, result: unknown) => Promise<void>,
  ): Promise<unknown>;
}

/**
 * The effect is outside the state database. The ledger compares the preconditions directly before the first call. After
 * a crash it calls `act` again, so a repeated call with the same `operationId` must have no further effect.
 */
interface RepeatableActuator<P> extends ActuatorBase<P> {
  readonly acts: 'repeatably';
  act(parameters: P, action: ApprovedAction): Promise<unknown>;
}

export type Actuator<P = unknown> = StateActuator<P> | RecordingActuator<P> | RepeatableActuator<P>;

/** Keeps the type of the parameters for the functions of an actuator. The ledger checks parameters by their schema. */
export function defineActuator<P>(actuator: Actuator<P>): Actuator {
  return actuator as unknown as Actuator;
}

/** Job kind of an actuator: a server takes only jobs of actuators that it knows. */
export const formatActuator = ({ name, version }: Pick<Actuator, 'name' | 'version'>) => `${name}@${version}`;

/**
 * The caller whose rights an action uses: the approver, or the requester if a policy approved it. If the server itself
 * proposed an action that a policy approved, the server acts.
 */
export function chooseActor({ approver, requester, approvedBy }: ApprovedAction): Principal {
  return approver ?? requester ?? { kind: 'user', id: approvedBy, name: approvedBy, permissions: ['*'] };
}

/** Error of parameters that name something unknown, or an action that is not possible. */
export const parameterError = (member: string, detail: string) =>
  fieldFailure('invalid-body', [problem(`parameters/${member}`, detail)]);
