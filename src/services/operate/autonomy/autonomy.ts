import { ApiError, badParameter } from '../../../core/errors/errors.js';
import type {
  AutonomyPolicyRow,
  AutonomySettingRow,
  AutonomyStore,
} from '../../../stores/operate/autonomy.js';

import type { RuleOutcomes } from '../../../stores/operate/proposals.js';

export const AUTONOMY_MODES = ['ProposeOnly', 'AutoApply'] as const;
type AutonomyMode = (typeof AUTONOMY_MODES)[number];

export const AUTONOMY_LIMITS = {
  ruleCharacters: 128,
  blastRadius: 1000,
  actions: 1000,
  windowSeconds: 30 * 86_400,
} as const;

export type TrackRecord = Omit<RuleOutcomes, 'rule' | 'firstAt' | 'lastAt'> & {
  readonly firstAt: number | null;
  readonly lastAt: number | null;
};

/** Automatic actions that a rule may take on its findings. */
export interface AutonomyPolicy {
  readonly rule: string;
  readonly mode: AutonomyMode;
  /** Number of things that one automatic action can change. */
  readonly maxBlastRadius: number;
  /** Number of automatic actions in a window. */
  readonly maxActions: number;
  readonly windowSeconds: number;
  /** Undefined: it is the default policy. */
  readonly stored: Pick<AutonomyPolicyRow, 'updated_at' | 'updated_by' | 'version'> | undefined;
  readonly record: TrackRecord;
}

/** Members of a policy to change. Absent members stay. */
export interface AutonomyChange {
  readonly mode?: AutonomyMode | undefined;
  readonly maxBlastRadius?: number | undefined;
  readonly maxActions?: number | undefined;
  readonly windowSeconds?: number | undefined;
}

export interface AutonomyDeps {
  readonly store: AutonomyStore;
  /** Outcomes of all proposals, by rule. */
  countByRule(): Promise<readonly RuleOutcomes[]>;
  /** Names of the rules. */
  readonly rules: readonly string[];
  /** Whether the keys of seals are encrypted by a key outside the database. */
  readonly hasOwnKey: boolean;
}

const DEFAULTS = { mode: 'ProposeOnly', maxBlastRadius: 1, maxActions: 3, windowSeconds: 3600 } as const;

/** Policies by which rules act on their findings, and the switch that stops them all. */
export class Autonomy {
  constructor(private readonly deps: AutonomyDeps) {}

  /** A policy for each rule, in the order of their names. */
  async list(): Promise<AutonomyPolicy[]> {
    const [rows, records] = await Promise.all([this.deps.store.policies(), this.#readRecords()]);
    const stored = new Map(rows.map((row) => [row.rule, row]));
    return [...this.deps.rules].sort().map((rule) => describe(rule, stored.get(rule), records.get(rule)));
  }

  /** Undefined for an unknown rule. */
  async find(rule: string): Promise<AutonomyPolicy | undefined> {
    if (!this.deps.rules.includes(rule)) return undefined;
    const [row, records] = await Promise.all([this.deps.store.policy(rule), this.#readRecords()]);
    return describe(rule, row, records.get(rule));
  }

  /** Throws `invalid-parameter` for an unknown rule, and `invalid-body` for AutoApply without a key outside the database. */
  async change(rule: string, by: string, change: AutonomyChange): Promise<AutonomyPolicy> {
    const { rules, hasOwnKey, store } = this.deps;
    if (!rules.includes(rule)) throw badParameter('rule', `must be one of ${rules.join(', ')}`);
    if (change.mode === 'AutoApply' && !hasOwnKey)
      throw new ApiError(
        'invalid-body',
        'mode: AutoApply needs the setting security.stateKey. Without it, whoever can read the database can sign actions.',
      );
    await store.setPolicy(rule, by, (before) => {
      const wanted = { ...describe(rule, before), ...drop(change) };
      return {
        ...{ mode: wanted.mode, max_blast_radius: wanted.maxBlastRadius },
        ...{ max_actions: wanted.maxActions, window_seconds: wanted.windowSeconds },
      };
    });
    return (await this.find(rule))!;
  }

  async #readRecords(): Promise<ReadonlyMap<string, TrackRecord>> {
    return new Map((await this.deps.countByRule()).map(({ rule, ...record }) => [rule, record]));
  }

  settings(): Promise<AutonomySettingRow | undefined> {
    return this.deps.store.settings();
  }

  /** While the switch is on, no policy acts. People can approve proposals. */
  setKillSwitch(isOn: boolean, by: string): Promise<AutonomySettingRow> {
    return this.deps.store.setKillSwitch(isOn, by);
  }
}

const NO_RECORD: TrackRecord = {
  ...{
    raised: 0,
    approved: 0,
    rejected: 0,
    autoApplied: 0,
    failed: 0,
    rolledBack: 0,
    firstAt: null,
    lastAt: null,
  },
};

function describe(rule: string, row?: AutonomyPolicyRow, record = NO_RECORD): AutonomyPolicy {
  if (!row) return { rule, ...DEFAULTS, stored: undefined, record };
  return {
    rule,
    mode: row.mode as AutonomyMode,
    maxBlastRadius: row.max_blast_radius,
    maxActions: row.max_actions,
    windowSeconds: row.window_seconds,
    stored: row,
    record,
  };
}

/** The change without absent members. */
function drop(change: AutonomyChange): AutonomyChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
