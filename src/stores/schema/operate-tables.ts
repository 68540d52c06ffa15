/** A proposed action. Its content is the sealed statement; the other columns are for lists and for its execution. */
export interface ProposalTable {
  /** SHA-256 of the statement, in hexadecimal. */
  id: string;
  kind: string;
  /** `name@version`. */
  actuator: string;
  /** `ProposalStatus`. */
  status: string;
  requested_by: string;
  requested_by_agent: string | null;
  tenant: string | null;
  finding_id: string | null;
  autonomy_rule: string | null;
  /** Members of the list: `ProposalSummary`. */
  summary_json: string;
  /** The caller who proposed it, as a principal. Its digest is in the statement. */
  requester_json: string | null;
  /** The document whose digest is in the statement. */
  evidence_json: string | null;
  /** Identifies equal proposals of one caller while they are open. */
  open_key: string | null;
  /** Sealed statements: JWS as JSON. */
  statement: string;
  approval: string | null;
  receipt: string | null;
  /** `acting` once the action may have started, `acted` once it has ended, `undoing` once its undo may have started. */
  stage: string | null;
  /** Result of the action. */
  result_json: string | null;
  acted_at: number | null;
  job_id: string | null;
  resolved_by: string | null;
  resolved_at: number | null;
  resolution_reason: string | null;
  outcome: string | null;
  blocking_json: string;
  expires_at: number;
  created_at: number;
  updated_at: number;
}
