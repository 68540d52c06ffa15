import type { Generated } from 'kysely';

/** Evidence about an incident, collected by operators. */
export interface InvestigationTable {
  id: Generated<number>;
  title: string;
  summary: string | null;
  /** `open` or `closed`. */
  status: string;
  created_at: number;
  created_by: string;
  updated_at: number;
}

/** An event of an investigation. */
export interface InvestigationPinTable {
  id: Generated<number>;
  investigation_id: number;
  event_kind: string;
  event_ref: string;
  occurred_at: number;
  note: string | null;
  /** `EvidenceCopy`, because events are kept for a limited time. */
  copy_json: string | null;
  created_at: number;
  created_by: string;
}

/** A resource of an investigation. */
export interface InvestigationLinkTable {
  id: Generated<number>;
  investigation_id: number;
  resource_kind: string;
  resource_id: string;
  note: string | null;
  copy_json: string | null;
  created_at: number;
  created_by: string;
}
