import type { ControlStatus, Evidence } from '../../core/compliance/compliance.js';
import type { CollectedFact, CollectedFacts, ComplianceFacts, FactName } from './facts.js';

/** Result of a check. A check that is not implemented has a gap. */
interface Judgement {
  readonly status: ControlStatus;
  readonly detail: string;
  readonly gap?: string;
}

interface Check<N extends FactName> {
  readonly claim: string;
  readonly fact: N;
  /** Part of the server that the fact is read from. */
  readonly source: string;
  judge(value: ComplianceFacts[N], now: number): Judgement;
}

const DAY_MS = 86_400_000;
/** Days for which a key version may be the newest one. */
const MAX_KEY_DAYS = 365;
/** Hours since the last backup. */
const MAX_BACKUP_HOURS = 24;
/** Checkpoints are due after 1,000 rows, or after an hour. */
const MAX_ROWS_WITHOUT_CHECKPOINT = 2000;
const MAX_CHECKPOINT_MS = 2 * 3_600_000;

const yes = (detail: string): Judgement => ({ status: 'Implemented', detail });
const partly = (detail: string, gap: string): Judgement => ({ status: 'PartiallyImplemented', detail, gap });
const no = (detail: string, gap: string): Judgement => ({ status: 'NotImplemented', detail, gap });
const unknown = (detail: string, gap: string): Judgement => ({ status: 'Unknown', detail, gap });
const either = (holds: boolean, detail: string, gap: string) => (holds ? yes(detail) : no(detail, gap));
/** Judgement by the number of active API keys that have a fault. */
function judgeKeys(active: number, faulty: number, fault: string): Judgement {
  const detail = `${faulty} of ${active} active API keys ${fault}.`;
  if (faulty === 0) return yes(detail);
  const gap = `${faulty} active API keys ${fault}.`;
  return faulty === active ? no(detail, gap) : partly(detail, gap);
}
const define = <N extends FactName>(check: Check<N>) => check;

const iso = (time: number) => new Date(time).toISOString();

/** All checks, each of one fact. */
export const CHECKS = {
  managementPermissions: define({
    claim: 'Operations of the management API require a permission.',
    fact: 'operations',
    source: 'operations of the server',
    judge: ({ total, open }) =>
      either(
        open.length === 0,
        `${total - open.length} of ${total} operations require a permission, or serve to sign in.`,
        `Operations without a permission: ${open.join(', ')}.`,
      ),
  }),
  auditCoverage: define({
    claim: 'The audit trail records all changes by the management API.',
    fact: 'operations',
    source: 'operations of the server',
    judge: ({ unaudited }) =>
      either(
        unaudited.length === 0,
        `${unaudited.length} operations that change something are not audited.`,
        `Operations that are not audited: ${unaudited.join(', ')}.`,
      ),
  }),
  stateKey: define({
    claim: 'Secrets in the state are encrypted with a key outside of the state.',
    fact: 'stateKey',
    source: 'setting security.stateKey',
    judge: (isSet) =>
      either(
        isSet,
        isSet ? 'The key is set (AES-256-GCM).' : 'The key is not set.',
        'security.stateKey is not set, so the state has secrets in plain text.',
      ),
  }),
  storedSecrets: define({
    claim: 'All passwords of connections are encrypted and can be read.',
    fact: 'secrets',
    source: 'POST /connections/encryption/validate',
    judge: ({ isValid, message }) => either(isValid, message, message),
  }),
  keyAge: define({
    claim: `The encryption key of passwords is at most ${MAX_KEY_DAYS} days old.`,
    fact: 'keyIssuedAt',
    source: 'key versions of the state',
    judge: (issuedAt, now) =>
      issuedAt === null
        ? no(
            'There is no key version.',
            'No password was encrypted and no key was rotated, so there is no key version.',
          )
        : either(
            now - issuedAt <= MAX_KEY_DAYS * DAY_MS,
            `The newest key version is of ${iso(issuedAt)}.`,
            `The newest key version is older than ${MAX_KEY_DAYS} days. Rotate the key.`,
          ),
  }),
  transport: define({
    claim: 'Clients connect by TLS.',
    fact: 'transport',
    source: 'settings server.tls and server.publicUrl, check of the certificate',
    judge({ servesTls, isBehindTls, certificate }) {
      if (servesTls && certificate !== undefined && certificate !== 'Healthy')
        return partly('The server uses TLS.', `The check of the TLS certificate is ${certificate}.`);
      if (servesTls) return yes('The server uses TLS.');
      if (isBehindTls)
        return partly(
          'The public URL is https, and a proxy forwards requests.',
          'TLS ends at a proxy, which the server cannot inspect.',
        );
      return no(
        'The server uses plain HTTP.',
        'server.tls.cert is not set, and server.publicUrl is not https.',
      );
    },
  }),
  anonymousData: define({
    claim: 'Data can be read only with a credential.',
    fact: 'layers',
    source: 'access rules of the catalog',
    judge({ total, anonymous }) {
      const detail = `${anonymous} of ${total} layers can be read without a credential.`;
      if (anonymous === 0) return yes(detail);
      const gap = `${anonymous} layers are public. Restrict them, or document that their data are public.`;
      return anonymous === total ? no(detail, gap) : partly(detail, gap);
    },
  }),
  namedUsers: define({
    claim: 'People have accounts of their own.',
    fact: 'users',
    source: 'users of the state',
    judge: ({ active }) =>
      either(active > 0, `${active} users are active.`, 'There are no users, so people share API keys.'),
  }),
  centralSignIn: define({
    claim: 'People sign in by an identity provider.',
    fact: 'providers',
    source: 'OpenID Connect providers of the state',
    judge: ({ enabled }) =>
      either(
        enabled > 0,
        `${enabled} OpenID Connect providers are enabled.`,
        'No OpenID Connect provider is enabled, so multi-factor sign-in is not possible.',
      ),
  }),
  keyExpiry: define({
    claim: 'API keys expire.',
    fact: 'apiKeys',
    source: 'API keys of the state',
    judge: ({ active, withoutEnd }) => judgeKeys(active, withoutEnd, 'do not expire'),
  }),
  unusedKeys: define({
    claim: 'API keys that are not used are revoked.',
    fact: 'apiKeys',
    source: 'API keys of the state',
    judge: ({ active, unused }) =>
      unused === 0
        ? yes(`All of ${active} active API keys are new, or were used in the last 90 days.`)
        : partly(
            `${unused} of ${active} active API keys were not used for 90 days.`,
            `${unused} active API keys were not used for 90 days. Revoke them.`,
          ),
  }),
  leastPrivilege: define({
    claim: 'API keys have only the permissions that they need.',
    fact: 'apiKeys',
    source: 'API keys of the state',
    judge: ({ active, unrestricted }) => judgeKeys(active, unrestricted, 'have all permissions'),
  }),
  passwordAttempts: define({
    claim: 'Wrong passwords are limited.',
    fact: 'passwordAttempts',
    source: 'setting security.passwordAttempts',
    judge: (attempts) =>
      either(
        attempts > 0,
        `The limit is ${attempts} wrong passwords per address in 15 minutes. 0 means no limit.`,
        'security.passwordAttempts is 0, so passwords can be guessed without a limit.',
      ),
  }),
  auditChain: define({
    claim: 'The audit trail is unchanged.',
    fact: 'auditChain',
    source: 'GET /observability/audit/verify',
    judge({ rows, broken }) {
      if (broken)
        return no(
          `${rows} rows were checked.`,
          `The audit trail is broken at row ${broken.id}: ${broken.reason}.`,
        );
      return rows === 0
        ? unknown('The audit trail has no rows.', 'The audit trail has no rows yet.')
        : yes(`All of ${rows} rows are unchanged.`);
    },
  }),
  auditCheckpoints: define({
    claim: 'Signed checkpoints attest the length of the audit trail.',
    fact: 'checkpoints',
    source: 'GET /observability/audit/checkpoints',
    judge({ newestAt, rowsSince }, now) {
      if (newestAt === null)
        return no(
          'There is no checkpoint.',
          'There is no signed checkpoint yet. The first one is due after 1,000 rows or an hour.',
        );
      const detail = `The newest checkpoint is of ${iso(newestAt)}, and ${rowsSince} rows were added since.`;
      const isCurrent =
        rowsSince === 0 || (rowsSince < MAX_ROWS_WITHOUT_CHECKPOINT && now - newestAt < MAX_CHECKPOINT_MS);
      return isCurrent ? yes(detail) : partly(detail, 'A new checkpoint is overdue.');
    },
  }),
  auditReview: define({
    claim: 'Audit rows leave the server for review.',
    fact: 'auditReview',
    source: 'setting observability.otlpEndpoint, exports in the audit trail',
    judge({ isForwarded, exports }) {
      if (isForwarded) return yes('A collector receives the log with the audit checkpoints.');
      const gap = 'No collector is set in observability.otlpEndpoint, so a review needs exports by hand.';
      return exports > 0
        ? partly(`The audit trail was exported ${exports} times in 30 days.`, gap)
        : no('The audit trail was not exported in 30 days.', gap);
    },
  }),
  notices: define({
    claim: 'Operators receive notices about failures.',
    fact: 'noticeChannels',
    source: 'setting alerts.notices.channels',
    judge: (channels) =>
      either(
        channels.length > 0,
        channels.length > 0
          ? `Notices are sent to ${channels.join(', ')}.`
          : 'Notices are sent to no channel.',
        'alerts.notices.channels is empty, so operators see failures only in the log.',
      ),
  }),
  monitoring: define({
    claim: 'Metrics are available to a monitoring system.',
    fact: 'monitoring',
    source: 'settings below observability',
    judge: ({ metrics, otlp }) =>
      either(
        metrics || otlp,
        `Prometheus: ${metrics ? 'on' : 'off'}. OTLP: ${otlp ? 'on' : 'off'}.`,
        'observability.enabled is false and observability.otlpEndpoint is not set.',
      ),
  }),
  health: define({
    claim: 'All parts of the server work.',
    fact: 'health',
    source: 'GET /observability/ops-health',
    judge(status) {
      const detail = `The overall status is ${status}.`;
      if (status === 'Healthy') return yes(detail);
      return status === 'Degraded' ? partly(detail, detail) : no(detail, detail);
    },
  }),
  backups: define({
    claim: `The state was saved in the last ${MAX_BACKUP_HOURS} hours.`,
    fact: 'backups',
    source: 'backups in the audit trail',
    judge(backups, now) {
      if (!backups)
        return unknown(
          'The state is in PostgreSQL.',
          'The server cannot see backups of PostgreSQL. Show those of the database.',
        );
      if (backups.newestAt === null)
        return no('The audit trail has no backup.', 'The state was never saved with graticule state backup.');
      return either(
        now - backups.newestAt <= MAX_BACKUP_HOURS * 3_600_000,
        `The last backup is of ${iso(backups.newestAt)}.`,
        `The last backup is older than ${MAX_BACKUP_HOURS} hours.`,
      );
    },
  }),
  redundancy: define({
    claim: 'Several servers share the work.',
    fact: 'servers',
    source: 'heartbeats of the servers',
    judge: ({ count }) => either(count > 1, `${count} servers run.`, 'Only one server runs.'),
  }),
  currentRelease: define({
    claim: 'All servers run one release, and the state is of this release.',
    fact: 'servers',
    source: 'heartbeats of the servers',
    judge: ({ releases }) =>
      releases.length === 1
        ? yes(`All servers run the release ${releases[0]}.`)
        : partly(`The servers run the releases ${releases.join(', ')}.`, 'The servers run several releases.'),
  }),
  migrations: define({
    claim: 'The tables of the state are those of this release.',
    fact: 'pendingMigrations',
    source: 'migration steps of the state',
    judge: (pending) =>
      either(pending === 0, `${pending} steps are pending.`, `${pending} migration steps are pending.`),
  }),
  approvals: define({
    claim: 'Another person approves processes before they run.',
    fact: 'approvals',
    source: 'setting processes.approval',
    judge: (processes) =>
      either(
        processes.length > 0,
        processes.length > 0
          ? `Approval is required for ${processes.join(', ')}.`
          : 'No process requires an approval.',
        'processes.approval is empty, so no change needs a second person.',
      ),
  }),
  signedReleases: define({
    claim: 'Release packages are signed.',
    fact: 'signsReleases',
    source: 'setting releases.key',
    judge: (isSigned) =>
      either(
        isSigned,
        isSigned ? 'The key is set.' : 'The key is not set.',
        'releases.key is not set, so release packages are not signed.',
      ),
  }),
  fips: define({
    claim: 'Cryptography uses a module in FIPS mode.',
    fact: 'fips',
    source: 'crypto.getFips() of Node.js',
    judge: (isOn) =>
      either(
        isOn,
        isOn ? 'OpenSSL runs in FIPS mode.' : 'OpenSSL does not run in FIPS mode.',
        'OpenSSL does not run in FIPS mode. Start Node.js with --enable-fips and a FIPS provider.',
      ),
  }),
  diskEncryption: define({
    claim: 'The disks of the data are encrypted.',
    fact: 'diskEncryption',
    source: 'none',
    judge: () =>
      unknown(
        'The server cannot see the encryption of disks and databases.',
        'The server cannot see the encryption of disks and databases. Show that of the operating system.',
      ),
  }),
} as const;

export type CheckId = keyof typeof CHECKS;

/** Evidence of a check, and its gap. */
export interface CheckResult {
  readonly evidence: Evidence;
  readonly gap: string | undefined;
}

export function runCheck(id: CheckId, facts: CollectedFacts): CheckResult {
  const { claim, fact, source, judge } = CHECKS[id] as Check<FactName>;
  const collected = facts[fact] as CollectedFact<ComplianceFacts[FactName]>;
  const judgement =
    'problem' in collected
      ? unknown(
          `It could not be read: ${collected.problem}`,
          `${claim} It could not be checked: ${collected.problem}`,
        )
      : judge(collected.value, collected.at);
  const { status, detail, gap } = judgement;
  return {
    evidence: { claim, detail, source, status, collectedAt: collected.at },
    gap: status === 'Implemented' ? undefined : gap,
  };
}
