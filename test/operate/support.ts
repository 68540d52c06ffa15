import Type from 'typebox';
import type { Principal } from '../../src/core/http/operation.js';
import { computeFingerprint } from '../../src/core/values/fingerprint.js';
import { SealKeys } from '../../src/services/access/keys/seal-keys.js';
import { StateCipher } from '../../src/services/access/keys/state-cipher.js';
import { type Actuator, defineActuator } from '../../src/services/actions/actuator.js';
import { JobEngine } from '../../src/services/jobs/engine.js';
import { Ledger } from '../../src/services/operate/ledger.js';
import type { State } from '../../src/stores/state/state.js';

/** Kind of the documents that the actions of tests change. */
export const LAMP = 'lamp';

/** Parameters of the actions of tests: set a lamp to a colour. */
export interface LampColor {
  readonly lamp: string;
  readonly color: string;
}

/** How the action of a test behaves. */
export interface LampOptions {
  readonly name: string;
  readonly acts: Actuator['acts'];
  /** Whether the action changes the lamp at all. Default: true. */
  readonly works?: boolean;
  readonly verifyMs?: number;
  readonly undo?: 'works' | 'does nothing';
}

const readColor = async (state: Pick<State, 'documents'>, lamp: string) =>
  (await state.documents.get<{ color: string }>(LAMP, lamp))?.body.color;

/** An action on documents of the state, in each of the three ways in which actuators act. */
export function createLampActuator(state: State, options: LampOptions): Actuator {
  const { works = true, verifyMs = 2000 } = options;
  const put = async (stores: Pick<State, 'documents'>, { lamp, color }: LampColor, id: string) => {
    // Each effect adds a line, so tests can count effects.
    await stores.documents.create('lamp effect', `${id} ${color} ${Math.random()}`, { lamp, color }, 'test');
    if (works) await stores.documents.put(LAMP, lamp, { color }, 'test');
  };
  const base = {
    ...({ kind: 'AdminConfigChange', name: options.name, version: 1, verifyMs } as const),
    ...{ description: 'Sets a lamp to a color', permission: 'admin:lamps:write' },
    parameters: Type.Object(
      { lamp: Type.String(), color: Type.String({ maxLength: 100_000 }) },
      { additionalProperties: false },
    ),
    plan: async ({ lamp, color }: LampColor) => ({
      ...{ summary: `Set the lamp ${lamp} to ${color.slice(0, 20)}.`, riskLevel: 'Low' as const },
      ...{ targets: [`Lamp/${lamp}`], blastRadius: 1, dryRun: [] },
      diff: [`${await readColor(state, lamp)} -> ${color.slice(0, 20)}`],
    }),
    async preconditions({ lamp }: LampColor, stores: Pick<State, 'documents'> | undefined) {
      const color = await readColor(stores ?? state, lamp);
      return [{ resource: `Lamp/${lamp}`, fingerprint: computeFingerprint(color ?? 'absent') }];
    },
    async verify({ lamp, color }: LampColor) {
      const isSet = (await readColor(state, lamp)) === color;
      return {
        state: isSet ? ('verified' as const) : ('pending' as const),
        message: `The lamp is ${color}.`,
      };
    },
    remedy: 'Set the lamp by hand.',
    ...(options.undo === undefined
      ? {}
      : {
          async undo({ lamp }: LampColor, before: unknown) {
            if (options.undo === 'works') await state.documents.put(LAMP, lamp, { color: before }, 'test');
          },
        }),
  };
  switch (options.acts) {
    case 'in-transaction':
      return defineActuator<LampColor>({
        ...base,
        acts: 'in-transaction',
        async act(parameters, { proposalId }, stores) {
          const before = await readColor(stores, parameters.lamp);
          await put(stores, parameters, proposalId);
          return before;
        },
      });
    case 'in-own-transaction':
      return defineActuator<LampColor>({
        ...base,
        acts: 'in-own-transaction',
        act: (parameters, { proposalId }, record) =>
          state.atomically(async (stores) => {
            const before = await readColor(stores, parameters.lamp);
            await put(stores, parameters, proposalId);
            await record(stores, before);
          }),
      });
    case 'repeatably':
      return defineActuator<LampColor>({
        ...base,
        acts: 'repeatably',
        async act(parameters, { operationId }) {
          const done = await state.documents.get('lamp done', operationId);
          if (!done)
            await state.atomically(async (stores) => {
              await stores.documents.create('lamp done', operationId, {}, 'test');
              await put(stores, parameters, operationId);
            });
        },
      });
  }
}

/** Callers of tests. `chief` may approve actions on lamps. */
export function createCaller(id: string, permissions: string[] = [], tenantId?: string): Principal {
  return { kind: 'api-key', id, name: id, permissions, ...(tenantId === undefined ? {} : { tenantId }) };
}
export const CHIEF = createCaller('chief', ['admin:lamps:write']);
export const CLERK = createCaller('clerk');

/** A server with a ledger over a state. Its jobs run after `engine.start()`. */
export function openLedger(state: State, { stateKey = 'a key of the state' } = {}) {
  const engine = new JobEngine(state.jobs, { leaseMs: 3000, pollMs: 20 });
  const errors: unknown[] = [];
  const keys = new SealKeys(state.documents, new StateCipher(stateKey));
  const ledger = new Ledger({
    ...{ state, jobs: engine, keys, verifyPollMs: 10 },
    presentRights: { of: async (principal) => principal },
    sharesOrigin: async (decider, author) => decider === author,
    onError: (error) => void errors.push(error),
  });
  return { ledger, engine, keys, errors };
}

export type TestLedger = ReturnType<typeof openLedger>;

/** Resolves with the proposal once it has ended. */
export async function waitForEnd(state: State, id: string) {
  for (;;) {
    const row = await state.proposals.get(id);
    if (row && !['AwaitingApproval', 'Submitted', 'Executing', 'Reconciling'].includes(row.status))
      return row;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Numbers of effects of all actions, by lamp and color. */
export async function listEffects(state: State): Promise<string[]> {
  const effects = await state.documents.list<LampColor>('lamp effect');
  return effects.map(({ body }) => `${body.lamp} ${body.color}`);
}
