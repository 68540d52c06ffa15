import { join, resolve } from 'node:path';
import {
  type Dialect,
  HandleEmptyInListsPlugin,
  Kysely,
  type KyselyPlugin,
  replaceWithNoncontingentExpression,
  sql,
} from 'kysely';
import type { Config } from '../../core/config/config.js';
import { StateLink } from '../../workers/state/link.js';
import { ApiKeyStore } from '../access/api-keys.js';
import { EmbedUsageStore } from '../access/embed-usage.js';
import { RateBucketStore } from '../access/rate-buckets.js';
import { SessionStore } from '../access/sessions.js';
import { TenantUsageStore } from '../access/tenant-usage.js';
import { UserKeyStore } from '../access/user-keys.js';
import { UserStore } from '../access/users.js';
import { AlertEvaluationStore } from '../alerts/evaluation.js';
import { AlertEventStore } from '../alerts/events.js';
import { AlertRuleStore } from '../alerts/rules.js';
import { AlertZoneStore } from '../alerts/zones.js';
import { AttachmentStore } from '../attachments/attachments.js';
import { AuditStore } from '../audit/audit.js';
import { AuditCheckpointStore } from '../audit/checkpoints.js';
import { CollectionStore } from '../catalog/collections.js';
import { ComplianceEvidenceStore } from '../compliance/evidence.js';
import { AnnouncementStore } from '../database/announcements.js';
import { StateDialect } from '../database/dialect.js';
import { type EngineFacts, readEngineFacts } from '../database/engine-facts.js';
import { InstanceStore } from '../database/instances.js';
import type { PostgresBounds } from '../database/postgres-dialect.js';
import { makeDataFolder, makeStateFile, STATE_FILE } from '../database/private-files.js';
import { getSignals, type StateSignals } from '../database/signals.js';
import { getStatementCount, type StatementCount } from '../database/statement-count.js';
import { TurnStore } from '../database/turns.js';
import { DiagnosticBundleStore } from '../diagnostics/bundles.js';
import { FieldSubmissionStore } from '../forms/submissions.js';
import { InvestigationStore } from '../investigations/investigations.js';
import { JobStore } from '../jobs/jobs.js';
import { CapacityStore } from '../licensing/capacity.js';
import { LicenceStore } from '../licensing/licences.js';
import { HealthPeriodStore } from '../observability/health-periods.js';
import { RecentRecordStore } from '../observability/recent-records.js';
import { AutonomyStore } from '../operate/autonomy.js';
import { FindingStore } from '../operate/findings.js';
import { ProposalStore } from '../operate/proposals.js';
import { RasterStore } from '../rasters/rasters.js';
import { ReplicaConflictStore } from '../replicas/replica-conflicts.js';
import { ReplicaStore } from '../replicas/replicas.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';
import { DeliveryStore } from '../streams/deliveries.js';
import { FeedStore } from '../streams/feed.js';
import { ReplyStore } from '../streams/replies.js';
import { StyleStore } from '../styles/styles.js';
import { DocumentStore } from './documents.js';
import { type MigrationSteps, migrate, readSteps } from './migrate.js';

/**
 * Stored state of the server. Every method is a round trip to the state thread or to PostgreSQL, and none blocks the
 * gateway.
 */
export interface State {
  readonly collections: CollectionStore;
  readonly apiKeys: ApiKeyStore;
  readonly audit: AuditStore;
  readonly auditCheckpoints: AuditCheckpointStore;
  readonly jobs: JobStore;
  readonly documents: DocumentStore;
  readonly feed: FeedStore;
  readonly deliveries: DeliveryStore;
  readonly rasters: RasterStore;
  readonly styles: StyleStore;
  readonly replies: ReplyStore;
  readonly instances: InstanceStore;
  readonly announcements: AnnouncementStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly userKeys: UserKeyStore;
  readonly turns: TurnStore;
  readonly rateBuckets: RateBucketStore;
  readonly tenantUsage: TenantUsageStore;
  readonly embedUsage: EmbedUsageStore;
  readonly replicas: ReplicaStore;
  readonly replicaConflicts: ReplicaConflictStore;
  readonly attachments: AttachmentStore;
  readonly alertZones: AlertZoneStore;
  readonly alertRules: AlertRuleStore;
  readonly alertEvents: AlertEventStore;
  readonly alertEvaluation: AlertEvaluationStore;
  readonly investigations: InvestigationStore;
  readonly findings: FindingStore;
  readonly autonomy: AutonomyStore;
  readonly diagnosticBundles: DiagnosticBundleStore;
  readonly healthPeriods: HealthPeriodStore;
  readonly recentRecords: RecentRecordStore;
  readonly proposals: ProposalStore;
  readonly licences: LicenceStore;
  readonly capacity: CapacityStore;
  readonly complianceEvidence: ComplianceEvidenceStore;
  readonly fieldSubmissions: FieldSubmissionStore;
  readonly signals: StateSignals;
  readonly statements: Readonly<StatementCount>;
  /** Runs changes that become durable together, or not at all. */
  atomically<T>(work: (stores: AtomicStores) => Promise<T>): Promise<T>;
  /** Migration steps of this release that are missing, and steps of a newer release. */
  migrationSteps(): Promise<MigrationSteps>;
  /** Version and extensions of the database. */
  describeEngine(): Promise<EngineFacts>;
  /** Rejects if the database does not respond, or refuses changes. Used for readiness. */
  check(): Promise<void>;
  /** Finishes what was posted, then releases the file. */
  close(): Promise<void>;
}

/** Stores whose changes can be parts of one transaction. */
export type AtomicStores = Pick<
  State,
  | 'alertRules'
  | 'alertZones'
  | 'autonomy'
  | 'collections'
  | 'deliveries'
  | 'documents'
  | 'instances'
  | 'jobs'
  | 'proposals'
  | 'rasters'
  | 'styles'
>;

/** Opens the state that a configuration names. */
export async function openConfiguredState(config: Config): Promise<State> {
  return buildStores(await openStateDb(config));
}

/** Like `openConfiguredState`, for code that processes all tables in the same way. */
export function openStateDb({ data, state }: Pick<Config, 'data' | 'state'>): Promise<StateDb> {
  const directory = resolve(data.directory);
  if (state.url === '') return openFile(join(directory, STATE_FILE));
  makeDataFolder(directory);
  return openPostgres(state.url, state);
}

/**
 * Opens the state database, creating and migrating it as needed. Several processes can open one file. `worker` is the
 * script of the state thread, for programs that do not run from the build output. Rejects if the file is not a
 * database, or a newer version changed parts that this one needs.
 */
export async function openState(path: string, worker?: URL): Promise<State> {
  return buildStores(await openFile(path, worker));
}

export async function openFile(path: string, worker?: URL): Promise<StateDb> {
  makeStateFile(path);
  return migrated(new StateDialect(await StateLink.open(path, worker)));
}

/**
 * Opens the state in a PostgreSQL database, creating and migrating its tables as needed. Servers on many machines can
 * open one database. Rejects if the database does not respond, or a newer version changed parts that this one needs.
 */
export async function openPostgresState(url: string, bounds: PostgresBounds): Promise<State> {
  return buildStores(await openPostgres(url, bounds));
}

export async function openPostgres(url: string, bounds: PostgresBounds): Promise<StateDb> {
  // The PostgreSQL client is loaded only by servers that need it.
  const { PostgresStateDialect } = await import('../database/postgres-dialect.js');
  // PostgreSQL has no empty lists.
  const lists = new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression });
  return migrated(new PostgresStateDialect(url, bounds), [lists]);
}

async function migrated(dialect: Dialect, plugins: KyselyPlugin[] = []): Promise<StateDb> {
  const db: StateDb = new Kysely({ dialect, plugins });
  try {
    await migrate(db);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return db;
}

function buildStores(db: StateDb): State {
  return {
    collections: new CollectionStore(db),
    apiKeys: new ApiKeyStore(db),
    audit: new AuditStore(db),
    auditCheckpoints: new AuditCheckpointStore(db),
    jobs: new JobStore(db),
    documents: new DocumentStore(db),
    feed: new FeedStore(db),
    deliveries: new DeliveryStore(db),
    rasters: new RasterStore(db),
    styles: new StyleStore(db),
    replies: new ReplyStore(db),
    instances: new InstanceStore(db),
    announcements: new AnnouncementStore(db),
    users: new UserStore(db),
    sessions: new SessionStore(db),
    userKeys: new UserKeyStore(db),
    turns: new TurnStore(db),
    rateBuckets: new RateBucketStore(db),
    tenantUsage: new TenantUsageStore(db),
    embedUsage: new EmbedUsageStore(db),
    replicas: new ReplicaStore(db),
    replicaConflicts: new ReplicaConflictStore(db),
    attachments: new AttachmentStore(db),
    alertZones: new AlertZoneStore(db),
    investigations: new InvestigationStore(db),
    fieldSubmissions: new FieldSubmissionStore(db),
    findings: new FindingStore(db),
    autonomy: new AutonomyStore(db),
    diagnosticBundles: new DiagnosticBundleStore(db),
    healthPeriods: new HealthPeriodStore(db),
    recentRecords: new RecentRecordStore(db),
    licences: new LicenceStore(db),
    capacity: new CapacityStore(db),
    complianceEvidence: new ComplianceEvidenceStore(db),
    alertRules: new AlertRuleStore(db),
    alertEvents: new AlertEventStore(db),
    alertEvaluation: new AlertEvaluationStore(db),
    proposals: new ProposalStore(db),
    signals: getSignals(db),
    statements: getStatementCount(db),
    atomically: (work) =>
      runInTransaction(db, (trx) =>
        work({
          alertRules: new AlertRuleStore(trx),
          alertZones: new AlertZoneStore(trx),
          autonomy: new AutonomyStore(trx),
          collections: new CollectionStore(trx),
          deliveries: new DeliveryStore(trx),
          documents: new DocumentStore(trx),
          instances: new InstanceStore(trx),
          jobs: new JobStore(trx),
          proposals: new ProposalStore(trx),
          rasters: new RasterStore(trx),
          styles: new StyleStore(trx),
        }),
      ),
    migrationSteps: () => readSteps(db),
    describeEngine: () => readEngineFacts(db),
    check: () => requireWritable(db),
    close() {
      getSignals(db).close();
      return db.destroy();
    },
  };
}

/** Rejects if the database is read-only. After a failover it can be a standby, which only responds to reads. */
async function requireWritable(db: StateDb): Promise<void> {
  if (getVocabulary(db).database === 'SQLite') return void (await sql`select 1`.execute(db));
  const { rows } = await sql<{
    setting: string;
  }>`select current_setting('transaction_read_only') as setting`.execute(db);
  if (rows[0]?.setting === 'on')
    throw new Error('read-only: a standby, or default_transaction_read_only is on');
}
