/** A diagnostic bundle of a client, without its envelopes. */
export interface DiagnosticBundleTable {
  /** Assigned by the server. */
  id: string;
  received_at: number;
  received_by: string;
  /** `BundleHead`; sealed like the envelopes. */
  head_json: string;
  /** `contentClassification`, raised if a secret was found. */
  classification: string;
  digest: string;
  envelope_count: number;
}

/** An HTTP exchange of a bundle. */
export interface DiagnosticEnvelopeTable {
  bundle_id: string;
  ordinal: number;
  /** JSON; sealed if the bundle may contain secrets. */
  content_json: string;
}

/** A signed statement about the first rows of the audit trail. */
export interface AuditCheckpointTable {
  /** Number of rows that it attests. */
  row_count: number;
  last_id: number;
  last_hash: string;
  created_at: number;
  /** Compact JWS of the statement. */
  signature: string;
}
