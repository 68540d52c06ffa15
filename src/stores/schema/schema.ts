import type { Generated } from 'kysely';
import type {
  AlertEventTable,
  AlertRevisionTable,
  AlertRuleTable,
  AlertStateTable,
  AlertZoneTable,
} from './alert-tables.js';
import type { ComplianceEvidenceTable } from './compliance-tables.js';
import type {
  AuditCheckpointTable,
  DiagnosticBundleTable,
  DiagnosticEnvelopeTable,
} from './diagnostic-tables.js';
import type { FieldCommentTable, FieldSubmissionTable } from './field-tables.js';
import type {
  AutonomyActionTable,
  AutonomyPolicyTable,
  AutonomySettingTable,
  FindingNoteTable,
  FindingTable,
} from './finding-tables.js';
import type {
  InvestigationLinkTable,
  InvestigationPinTable,
  InvestigationTable,
} from './investigation-tables.js';
import type {
  CapacityMinuteTable,
  CapacitySurgeTable,
  LicenceMarkTable,
  LicenceTable,
} from './licence-tables.js';
import type { LatencyTable, VitalsTable } from './observability-tables.js';
import type { ProposalTable } from './operate-tables.js';

/** Tables of the state database. Times are milliseconds since 1970 UTC. `*_json` columns contain JSON text. */

interface CollectionIdTable {
  id: Generated<number>;
  slug: string;
  /** Names the source that has the slug. */
  holder: Generated<string | null>;
}

interface CollectionTable {
  slug: string;
  kind: string;
  definition_json: string;
  /** File or connection that the collection was published from. */
  source_path: string | null;
  created_at: number;
  updated_at: number;
}

export interface ApiKeyTable {
  id: string;
  name: string;
  /** First characters of the key, shown to people. */
  prefix: string;
  /** SHA-256 of the key, hex. */
  hash: string;
  permissions_json: string;
  created_at: number;
  created_by: string | null;
  updated_at: number;
  expires_at: number | null;
  last_used_at: number | null;
  rotated_at: number | null;
  revoked_at: number | null;
}

export interface AuditTable {
  id: number;
  at: number;
  event_type: string;
  action: string;
  actor: string;
  actor_type: string;
  outcome: string;
  resource_type: string;
  resource_id: string | null;
  correlation_id: string;
  remote_ip: string | null;
  user_agent: string | null;
  details: string | null;
  previous_hash: string;
  hash: string;
}

export interface JobTable {
  id: string;
  kind: string;
  state: string;
  input_json: string;
  result_json: string | null;
  /** Data from the earlier run for a resumed run. */
  checkpoint_json: string | null;
  owner: string;
  idempotency_key: string | null;
  correlation_id: string | null;
  created_at: number;
  updated_at: number;
  started_at: number | null;
  completed_at: number | null;
  /** Number of the current or last run, counted from 1. */
  attempt: number;
  max_attempts: number;
  lease_owner: string | null;
  lease_expires_at: number | null;
  heartbeat_at: number | null;
  cancel_requested_at: number | null;
  phase: string | null;
  /** 0..1 of the current phase's work. */
  fraction: number | null;
  /** Milliseconds left, estimated from the rate so far. */
  eta_ms: number | null;
  failure_code: string | null;
  failure_message: string | null;
  warnings_json: string;
  resources_json: string;
  /** The data folder with the job's files. Null if any server can run it. */
  folder: string | null;
  /** Tenant of the owner. Null without a tenant. */
  tenant: Generated<string | null>;
  /** Place in `JOB_PRIORITIES`. */
  priority: Generated<number>;
  /** Caller whose rights are checked again while the job runs. Null: no check. */
  caller_json: Generated<string | null>;
}

/** A part of a running job, which any server may do. */
export interface JobPartTable {
  job_id: string;
  /** Counted from 0. */
  ordinal: number;
  state: string;
  input_json: string;
  /** Last progress that its run reported. */
  progress_json: string | null;
  result_json: string | null;
  failure_code: string | null;
  failure_message: string | null;
  attempt: number;
  lease_owner: string | null;
  lease_expires_at: number | null;
  updated_at: number;
}

export interface JobLogTable {
  id: Generated<number>;
  job_id: string;
  at: number;
  level: string;
  message: string;
  phase: string | null;
}

export interface JobStepTable {
  job_id: string;
  ordinal: number;
  attempt: number;
  phase: string;
  status: string;
  message: string;
  started_at: number;
  completed_at: number | null;
}

export interface JobArtifactTable {
  id: string;
  job_id: string;
  label: string;
  kind: string;
  content_type: string;
  size_bytes: number | null;
  location: string;
  created_at: number;
}

export interface DocumentTable {
  kind: string;
  id: string;
  version: number;
  etag: string;
  body_json: string;
  created_at: number;
  created_by: string | null;
  updated_at: number;
  updated_by: string | null;
}

/** The feed of events. Its cursors start at an epoch: see core/events.ts. */
export interface FeedTable {
  cursor: Generated<number>;
  at: number;
  /** Null for a gap. */
  collection: string | null;
  entry_json: string;
}

/** Position up to which the outbox of a store was moved into the feed, with its lease. */
interface OutboxTable {
  source: string;
  cursor: number;
  event_id: string | null;
  owner: string | null;
  lease_expires_at: number;
}

/** Position up to which a receiver's deliveries were taken from the feed, with its lease. */
export interface SinkTable {
  name: string;
  /** Cursor of the last checked entry of the feed. */
  position: number;
  owner: string | null;
  lease_expires_at: number;
  /** 1 while an operator paused the sending. */
  is_paused: Generated<number>;
  /** Failed attempts since the last success. */
  failures: Generated<number>;
  /** Time at which the open circuit allows the next attempt. 0 while the circuit is closed. */
  opens_at: Generated<number>;
  /** Start of the period of the rate cap, and what was sent in it. */
  sent_since: Generated<number>;
  sent: Generated<number>;
}

type DeliveryState = 'pending' | 'claimed' | 'dispatched' | 'failed' | 'dead_lettered';

/** One message for one receiver, in the order of ids. */
export interface DeliveryTable {
  id: Generated<number>;
  sink: string;
  event_id: string;
  body: string;
  /** Attempts for which the receiver returned an error. */
  attempt: number;
  error: string | null;
  state: DeliveryState;
  created_at: number;
  due_at: number;
  /** Rule and alert event of an alert. Null for other deliveries. */
  rule_id: Generated<number | null>;
  alert_id: Generated<number | null>;
  /** Time of the last attempt. */
  attempted_at: Generated<number | null>;
}

/** Kinds of rasters that the management API registers. */
export type RegisteredKind = 'import' | 'cloud' | 'multidim' | 'zarr';

/** A raster that an operator registered with a layer. */
export interface RegisteredRasterTable {
  id: Generated<number>;
  kind: RegisteredKind;
  layer_id: number;
  name: string;
  description: string | null;
  /** Key of the data: the same place is registered once for a layer. For an import, the name of its file. */
  place: string;
  /** Members of the registration, and results of its scan other than the raster. */
  about_json: string;
  /** `RasterInfo`s that the last scan found; empty when there is no reader for the format. */
  parts_json: string;
  /** RFC 3339. */
  acquired: string | null;
  scanned_at: number | null;
  created_at: number;
  modified_at: number | null;
}

/** A version of a layer's style and pop-up settings. The newest is active. */
export interface StyleTable {
  layer_id: number;
  /** Counts changes of the layer from 1. */
  version: number;
  /** The version in which `document_json` changed. Changes of other members do not cause new rendering. */
  document_version: number;
  /** A checked MapLibre style; null for the default style. */
  document_json: string | null;
  drawing_info_json: string | null;
  popup_info_json: string | null;
  changed_by: string | null;
  change_summary: string | null;
  revised_at: number;
}

/** Responses to requests with an idempotency key. */
interface ReplyTable {
  principal: string;
  key_hash: string;
  target: string;
  instance: string;
  created_at: number;
  body_hash: string | null;
  sealed: string | null;
}

/** Gateway processes that share the state. */
export interface InstanceTable {
  name: string;
  server: string;
  host: string;
  release: string;
  started_at: number;
  heartbeat_at: number;
  /** Version of the last announcement that the process has applied. */
  applied: number;
  /** CPUs that the server of the process can use. Null: the process serves no requests, or is of a release without it. */
  serving_units: Generated<number | null>;
  deployment_role: Generated<string | null>;
}

/** Present holder of the turn on a resource. `ends_at` is in milliseconds since 1970. */
interface TurnTable {
  resource: string;
  holder: string;
  ends_at: number;
}

/** Changes that all processes must apply. */
export interface AnnouncementTable {
  version: number;
  topic: string;
  subject_json: string;
  at: number;
}

/** Origin of a user. */
export type UserSource = 'oidc' | 'scim' | 'manual';

/** A person, or a program that signs in as one. */
export interface UserTable {
  id: string;
  /** Sign-in name in lower case. */
  name: string;
  display_name: string;
  email: string | null;
  /** Argon2id. Null for users who sign in elsewhere. */
  password_hash: string | null;
  roles_json: string;
  /** Claims set by an administrator, by type. Row policies compare with them. */
  claims_json: string;
  source: UserSource;
  provider_id: string | null;
  /** Identifier of the user at the provider. */
  subject: string | null;
  tenant_id: string | null;
  is_active: number;
  /** Wrong passwords since the last right one. */
  failures: number;
  locked_until: number;
  created_at: number;
  created_by: string | null;
  updated_at: number;
}

/** Session of a user in one browser. */
export interface SessionTable {
  /** SHA-256 of the secret in the cookie, hex. */
  hash: string;
  user_id: string;
  /** The provider that the user signed in with; null for a password. */
  provider_key: string | null;
  /** Claims that the provider sent. */
  claims_json: string;
  created_at: number;
  used_at: number;
  expires_at: number;
  /** `User-Agent` of the browser that signed in. Null if it sent none, or signed in with an earlier release. */
  user_agent: string | null;
}

/** Key of a user, who has the same rights with it as after signing in. */
export interface UserKeyTable {
  id: string;
  user_id: string;
  name: string;
  /** First characters of the key, shown to people. */
  prefix: string;
  /** SHA-256 of the key, hex. */
  hash: string;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
}

/** Remaining tokens of a rate limit for one caller. */
interface RateBucketTable {
  key: string;
  /** Remaining tokens, for servers of earlier versions that share the state. */
  tokens: number;
  /** Number of tokens that the bucket lacked at `filled_at`. */
  spent: number;
  /** Time of the count. The bucket refills from this time on. */
  filled_at: number;
}

/** Requests of a tenant in a day (UTC). */
interface TenantUsageTable {
  tenant_id: string;
  /** `2026-11-24`. */
  day: string;
  requests: number;
  counted_at: number;
}

/** Uses of embed keys; members that are not known are empty. */
interface EmbedUsageTable {
  integration_id: string;
  tenant_id: string;
  origin: string;
  service: string;
  layer: string;
  event_type: string;
  uses: number;
}

/** An offline copy of layers of a service. */
export interface ReplicaTable {
  id: string;
  name: string;
  service: string;
  /** Id of the principal that created it. */
  owner: string;
  /** Network of the address that created it without a key, which its limit counts by; null: that of the owner. */
  counted_for: string | null;
  sync_model: SyncModel;
  /** Spatial reference of its coordinates. */
  epsg: number;
  layers_json: string;
  /** Cursor of the feed up to which its changes were sent. */
  generation: number;
  created_at: number;
  synced_at: number;
  /** Set if its owner unregistered it, but it has unresolved conflicts. */
  ended_at: number | null;
}

export type SyncModel = 'none' | 'perLayer' | 'perReplica';

/** An upload of a replica: events of its edits name it as their request. */
interface ReplicaSyncTable {
  id: string;
  replica_id: string;
  at: number;
}

export type ConflictStatus = 'pending' | 'resolved' | 'deferred';

/** An edit of a replica that conflicts with an edit by another client. */
export interface ReplicaConflictTable {
  id: string;
  replica_id: string;
  layer_id: number;
  object_id: number;
  /** Names the edit: the same one is in conflict once. */
  digest: string;
  superseded: number;
  outcome_unknown: number;
  status: ConflictStatus;
  detected_at: number;
  body_json: string;
  resolution_json: string | null;
}

/** Bytes of attachments in a storage: that of a data folder, or the one that all servers have, whose folder is ''. */
interface AttachmentContentTable {
  key: string;
  /** SHA-256. */
  digest: string;
  size: number;
  folder: string;
  /** Time of the last attempt to attach the bytes. */
  used_at: number;
}

/** A file of a feature. */
export interface AttachmentTable {
  id: Generated<number>;
  collection: string;
  feature_id: string;
  global_id: string;
  name: string;
  media_type: string;
  size: number;
  keywords: string;
  content_key: string;
  /** Origin in an import, which is attached only once. */
  origin: string | null;
  created_by: string;
  created_at: number;
  updated_at: number;
  /** Identity of the file that contains the feature. Null if it is unknown. */
  store: Generated<string | null>;
  /** Time at which the server first found another file at the path of that file. Null if it found no other file. */
  aside_at: Generated<number | null>;
}

export interface StateTables {
  collection_ids: CollectionIdTable;
  collections: CollectionTable;
  api_keys: ApiKeyTable;
  audit: AuditTable;
  jobs: JobTable;
  job_logs: JobLogTable;
  job_steps: JobStepTable;
  job_artifacts: JobArtifactTable;
  job_parts: JobPartTable;
  documents: DocumentTable;
  feed: FeedTable;
  outboxes: OutboxTable;
  sinks: SinkTable;
  deliveries: DeliveryTable;
  registered_rasters: RegisteredRasterTable;
  styles: StyleTable;
  replies: ReplyTable;
  instances: InstanceTable;
  announcements: AnnouncementTable;
  users: UserTable;
  sessions: SessionTable;
  user_keys: UserKeyTable;
  turns: TurnTable;
  rate_buckets: RateBucketTable;
  tenant_usage: TenantUsageTable;
  embed_usage: EmbedUsageTable;
  replicas: ReplicaTable;
  replica_syncs: ReplicaSyncTable;
  replica_conflicts: ReplicaConflictTable;
  attachment_contents: AttachmentContentTable;
  attachments: AttachmentTable;
  alert_zones: AlertZoneTable;
  alert_rules: AlertRuleTable;
  alert_revisions: AlertRevisionTable;
  alert_states: AlertStateTable;
  alert_events: AlertEventTable;
  investigations: InvestigationTable;
  investigation_pins: InvestigationPinTable;
  investigation_links: InvestigationLinkTable;
  field_submissions: FieldSubmissionTable;
  field_comments: FieldCommentTable;
  ops_findings: FindingTable;
  finding_notes: FindingNoteTable;
  autonomy_policies: AutonomyPolicyTable;
  autonomy_settings: AutonomySettingTable;
  autonomy_actions: AutonomyActionTable;
  diagnostic_bundles: DiagnosticBundleTable;
  diagnostic_envelopes: DiagnosticEnvelopeTable;
  proposals: ProposalTable;
  audit_checkpoints: AuditCheckpointTable;
  latency_periods: LatencyTable;
  vital_periods: VitalsTable;
  licences: LicenceTable;
  licence_marks: LicenceMarkTable;
  capacity_minutes: CapacityMinuteTable;
  capacity_surges: CapacitySurgeTable;
  compliance_evidence: ComplianceEvidenceTable;
}
