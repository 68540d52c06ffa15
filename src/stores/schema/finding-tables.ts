import type { Generated } from 'kysely';

/** A finding that lasts. */
export interface FindingTable {
  /** Name of its rule, and a digest of its subject. */
  id: string;
  rule: string;
  /** Time at which the finding was first found, in milliseconds since 1970, by the clock of the state. */
  detected_at: number;
}

/** Automatic actions that a rule may take. Rules without a row have the default policy. */
export interface AutonomyPolicyTable {
  rule: string;
  /** `ProposeOnly` or `AutoApply`. */
  mode: string;
  max_blast_radius: number;
  /** Maximum number of automatic actions in the window. */
  max_actions: number;
  window_seconds: number;
  /** Number of changes of the policy. */
  version: number;
  /** Actions in a row whose verification failed. */
  failed_in_row: Generated<number>;
  updated_at: number;
  updated_by: string;
}

/** One row, whose number is 1. */
export interface AutonomySettingTable {
  id: number;
  /** Number. 1: no policy acts. */
  kill_switch: number;
  updated_at: number;
  updated_by: string;
}

/** An action that a policy took. */
export interface AutonomyActionTable {
  proposal_id: string;
  rule: string;
  /** Milliseconds since 1970, by the clock of the state. */
  at: number;
}

/** A diagnosis of a finding by a person or a model. It changes nothing. */
export interface FindingNoteTable {
  id: Generated<number>;
  finding_id: string;
  /** Milliseconds since 1970, by the clock of the state. */
  at: number;
  author: string;
  /** Name of the program that wrote the text for the author. Null: the author wrote it. */
  agent: string | null;
  text: string;
}
