import type { Selectable } from 'kysely';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { AutonomyPolicyTable, AutonomySettingTable } from '../schema/finding-tables.js';
import { acquireLock, getVocabulary } from '../schema/vocabulary.js';

export type AutonomyPolicyRow = Selectable<AutonomyPolicyTable>;
export type AutonomySettingRow = Selectable<AutonomySettingTable>;

/** Changeable members of a policy. */
export type PolicyChange = Pick<
  AutonomyPolicyRow,
  'mode' | 'max_blast_radius' | 'max_actions' | 'window_seconds'
>;

/** An action that a policy wants to take. */
export interface WantedAction {
  readonly rule: string;
  readonly proposalId: string;
  readonly blastRadius: number;
}

/** Why a policy cannot act. */
export type AutonomyRefusal = 'kill-switch' | 'propose-only' | 'blast-radius' | 'budget';

/** Name of the lock under which policies act, on all servers. */
const LOCK = 'autonomy';

/** Policies by which rules act on their findings, the kill switch, and the actions that were taken. */
export class AutonomyStore {
  constructor(private readonly db: StateDb) {}

  policies(): Promise<AutonomyPolicyRow[]> {
    return this.db.selectFrom('autonomy_policies').selectAll().orderBy('rule').execute();
  }

  policy(rule: string): Promise<AutonomyPolicyRow | undefined> {
    return this.db.selectFrom('autonomy_policies').selectAll().where('rule', '=', rule).executeTakeFirst();
  }

  /** Stores a policy. The failures before the change count no longer. */
  setPolicy(rule: string, by: string, change: (before: AutonomyPolicyRow | undefined) => PolicyChange) {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, LOCK);
      const store = new AutonomyStore(trx);
      const before = await store.policy(rule);
      const row = {
        ...{ rule, ...change(before), version: (before?.version ?? 0) + 1, failed_in_row: 0 },
        ...{ updated_at: getVocabulary(trx).now(), updated_by: by },
      };
      await trx
        .insertInto('autonomy_policies')
        .values(row)
        .onConflict((c) => c.column('rule').doUpdateSet(row))
        .execute();
      return (await store.policy(rule))!;
    });
  }

  settings(): Promise<AutonomySettingRow | undefined> {
    return this.db.selectFrom('autonomy_settings').selectAll().executeTakeFirst();
  }

  setKillSwitch(isOn: boolean, by: string): Promise<AutonomySettingRow> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, LOCK);
      const row = {
        ...{ id: 1, kill_switch: isOn ? 1 : 0 },
        ...{ updated_at: getVocabulary(trx).now(), updated_by: by },
      };
      await trx
        .insertInto('autonomy_settings')
        .values(row)
        .onConflict((c) => c.column('id').doUpdateSet(row))
        .execute();
      return (await new AutonomyStore(trx).settings())!;
    });
  }

  /**
   * Records an action, if the policy of its rule allows it now. Call it in the transaction that approves the action. A
   * second call for the same proposal counts once. Returns the policy, or the reason why it cannot act.
   */
  admit(action: WantedAction): Promise<AutonomyPolicyRow | AutonomyRefusal> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, LOCK);
      const store = new AutonomyStore(trx);
      if ((await store.settings())?.kill_switch === 1) return 'kill-switch';
      const policy = await store.policy(action.rule);
      if (policy?.mode !== 'AutoApply') return 'propose-only';
      if (action.blastRadius > policy.max_blast_radius) return 'blast-radius';
      const { n } = await trx
        .selectFrom('autonomy_actions')
        .select((e) => e.fn.countAll<number>().as('n'))
        .where('rule', '=', action.rule)
        .where('proposal_id', '!=', action.proposalId)
        .where((e) => e(e(getVocabulary(trx).now(), '-', e.ref('at')), '<', policy.window_seconds * 1000))
        .executeTakeFirstOrThrow();
      if (Number(n) >= policy.max_actions) return 'budget';
      await trx
        .insertInto('autonomy_actions')
        .values({ rule: action.rule, proposal_id: action.proposalId, at: getVocabulary(trx).now() })
        .onConflict((c) => c.doNothing())
        .execute();
      return policy;
    });
  }

  /**
   * Counts the verification of an automatic action. After `maxFailures` failures in a row the policy proposes only.
   * Returns whether this call turned it.
   */
  countVerification(rule: string, hasFailed: boolean, maxFailures: number): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, LOCK);
      const policy = await new AutonomyStore(trx).policy(rule);
      if (!policy) return false;
      const failed = hasFailed ? policy.failed_in_row + 1 : 0;
      const turns = policy.mode === 'AutoApply' && failed >= maxFailures;
      const change = turns
        ? { mode: 'ProposeOnly', version: policy.version + 1, updated_at: getVocabulary(trx).now() }
        : {};
      await trx
        .updateTable('autonomy_policies')
        .set({ failed_in_row: failed, ...change, ...(turns ? { updated_by: 'system' } : {}) })
        .where('rule', '=', rule)
        .execute();
      return turns;
    });
  }
}
