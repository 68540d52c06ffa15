import { getFips } from 'node:crypto';
import type { EncryptionPosture } from '../../../core/compliance/compliance.js';
import { ANONYMOUS, type Operation } from '../../../core/http/operation.js';
import { version } from '../../../core/kit/version.js';
import { isPermissionCovered } from '../../../services/access/permissions.js';
import type { AuditCheckpoints } from '../../../services/audit/checkpoints.js';
import { Compliance } from '../../../services/compliance/compliance.js';
import type { FactReaders } from '../../../services/compliance/facts.js';
import type { ConnectionPasswords } from '../../../services/connections/passwords.js';
import { exception, type Log } from '../../../services/telemetry/log.js';
import type { StoredApiKey } from '../../../stores/access/api-keys.js';
import { BACKUP_ACTION } from '../../../stores/audit/audit.js';
import type { AdminOperation } from '../../admin/kit.js';
import type { ManagementOptions } from '../management.js';

type ComplianceOptions = Pick<
  ManagementOptions,
  | 'config'
  | 'state'
  | 'keys'
  | 'users'
  | 'identity'
  | 'pools'
  | 'catalog'
  | 'visible'
  | 'opsHealth'
  | 'hostChecks'
  | 'connections'
> & { readonly checkpoints: AuditCheckpoints };

const DAY_MS = 86_400_000;
const UNUSED_MS = 90 * DAY_MS;
const LOOK_MS = 600_000;
/** Milliseconds after the start, which has other work. */
const FIRST_LOOK_MS = 60_000;

/** Scopes whose operations without a permission serve to sign in. */
const OPEN_SCOPES = new Set(['admin-auth']);

/** Evaluates controls from facts about this server and its state. */
export function createCompliance(
  options: ComplianceOptions,
  operations: () => readonly Operation[],
): Compliance {
  const { config, state, pools, connections } = options;
  return new Compliance({
    facts: readFacts(options, operations),
    encryption: () => readEncryption(connections.passwords),
    residency: { enforced: false, ...config.compliance },
    store: state.complianceEvidence,
    pools,
    version: version(),
    now: Date.now,
  });
}

/** Stores evidence once a day. Returns how to stop. */
export function keepEvidence(compliance: Compliance, log: Pick<Log, 'write'>): () => void {
  const keep = () => {
    compliance.keepEvidence().catch((error: unknown) => log.write('licence.minute.failed', exception(error)));
  };
  const first = setTimeout(keep, FIRST_LOOK_MS).unref();
  const timer = setInterval(keep, LOOK_MS).unref();
  return () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}

function readFacts(options: ComplianceOptions, operations: () => readonly Operation[]): FactReaders {
  const { config, state, keys, users, identity, catalog, visible, opsHealth, hostChecks, checkpoints } =
    options;
  const { passwords } = options.connections;
  const { server, observability, security } = config;
  return {
    operations: () => describeOperations(operations()),
    stateKey: () => passwords.encrypts,
    secrets: () => passwords.validate(),
    keyIssuedAt: async () => (await passwords.versions()).at(-1)?.createdAt ?? null,
    transport: () => ({
      servesTls: server.tls.cert !== '',
      isBehindTls: /^https:/i.test(server.publicUrl) && server.trustProxy.length > 0,
      certificate: hostChecks.list().find(({ name }) => name === 'tls-certificate')?.status,
    }),
    layers: () => ({
      total: catalog.current.collections.length,
      anonymous: visible(ANONYMOUS).collections.length,
    }),
    users: async () => ({ active: (await users.list({ active: true, offset: 0, limit: 1 })).total }),
    providers: async () => ({
      enabled: (await identity.providers.list()).filter(({ body }) => body.enabled).length,
    }),
    apiKeys: async () => describeKeys(await keys.list(), Date.now()),
    passwordAttempts: () => security.passwordAttempts,
    async auditChain() {
      const { rowsChecked, broken } = await checkpoints.verify();
      return { rows: rowsChecked, broken };
    },
    async checkpoints() {
      const { last, newest } = await state.auditCheckpoints.ends();
      return { newestAt: newest?.created_at ?? null, rowsSince: (last?.id ?? 0) - (newest?.row_count ?? 0) };
    },
    async auditReview() {
      const since = Date.now() - 30 * DAY_MS;
      const equals = { event_type: 'DataExport', resource_type: 'audit', outcome: 'Success' };
      return {
        isForwarded: observability.otlpEndpoint !== '',
        exports: await state.audit.count({ equals, from: since }),
      };
    },
    noticeChannels: () => config.alerts.notices.channels,
    monitoring: () => ({ metrics: observability.enabled, otlp: observability.otlpEndpoint !== '' }),
    health: async () => (await opsHealth.snapshot()).status,
    async backups() {
      if (config.state.url !== '') return undefined;
      const equals = { action: BACKUP_ACTION, outcome: 'Success' };
      const [newest] = await state.audit.list({ equals, limit: 1 });
      return { newestAt: newest?.at ?? null };
    },
    async servers() {
      const alive = await state.instances.alive();
      return {
        count: new Set(alive.map((one) => one.server)).size,
        releases: [...new Set(alive.map(({ release }) => release))].sort(),
      };
    },
    pendingMigrations: async () => (await state.migrationSteps()).pending.length,
    approvals: () => config.processes.approval,
    signsReleases: () => config.releases.key !== '',
    fips: () => getFips() === 1,
    diskEncryption: () => undefined,
  };
}

function describeOperations(operations: readonly Operation[]) {
  const admin = operations.filter((one): one is AdminOperation => 'scope' in one && one.built);
  const isOpen = ({ permission, scope }: AdminOperation) =>
    permission === 'public' && !OPEN_SCOPES.has(scope);
  const changes = ({ method, shape }: AdminOperation) => method !== 'GET' && shape !== 'report';
  return {
    total: admin.length,
    open: admin.filter(isOpen).map(({ id }) => id),
    unaudited: admin.filter((one) => changes(one) && !one.audited).map(({ id }) => id),
  };
}

function describeKeys(all: readonly StoredApiKey[], now: number) {
  const active = all.filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > now),
  );
  const isUnused = ({ lastUsedAt, createdAt, rotatedAt }: StoredApiKey) =>
    Math.max(lastUsedAt ?? 0, createdAt, rotatedAt ?? 0) < now - UNUSED_MS;
  const isUnrestricted = ({ permissions }: StoredApiKey) =>
    permissions.some((grant) => isPermissionCovered(grant, 'admin:any:write'));
  return {
    active: active.length,
    withoutEnd: active.filter(({ expiresAt }) => expiresAt === null).length,
    unused: active.filter(isUnused).length,
    unrestricted: active.filter(isUnrestricted).length,
  };
}

async function readEncryption(passwords: ConnectionPasswords): Promise<EncryptionPosture> {
  const versions = await passwords.versions();
  const [newest] = versions.slice(-1);
  const fipsMode = getFips() === 1;
  return {
    activeKeyVersion: newest?.version ?? 0,
    activeKeyIssuedAt: newest?.createdAt ?? null,
    lastRotationAt: newest && newest.version > 1 ? newest.createdAt : null,
    retainedKeyVersions: versions.length,
    // Hashes of keys and passwords, checkpoints and tokens do not need a key of the operator.
    algorithms: [
      ...(passwords.encrypts ? ['AES-256-GCM', 'HKDF-SHA-256'] : []),
      ...['Argon2id', 'SHA-256', 'Ed25519', 'ECDSA P-256'],
    ],
    ...{ fipsMode, fipsSource: findFipsSource(fipsMode) },
  };
}

/** Source of the FIPS mode, if the process can see it. */
function findFipsSource(fipsMode: boolean): EncryptionPosture['fipsSource'] {
  const option = /--(enable|force)-fips\b/;
  if (fipsMode && option.test(process.env['NODE_OPTIONS'] ?? '')) return 'runtime-environment-variable';
  return fipsMode && process.execArgv.some((one) => option.test(one)) ? 'operator-attested' : 'unverified';
}
