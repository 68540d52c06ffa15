/** Evidence about a control, as the first process collected it on a day. */
export interface ComplianceEvidenceTable {
  /** `2026-11-30`, UTC. */
  day: string;
  control_id: string;
  status: string;
  /** SHA-256 of `content_json`, in hexadecimal. */
  digest: string;
  content_json: string;
  collected_at: number;
}
