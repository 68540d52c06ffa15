import { groupItems } from '../../../core/values/group-items.js';
import { shareWork } from '../../kit/shared-work.js';
import type { FindingDraft, Inspection, OpsRule } from '../findings/finding.js';

/** Facts of a process about its machine. */
export interface HostFacts {
  /** Name of the machine. */
  readonly host: string;
  readonly checks: readonly {
    readonly name: string;
    readonly status: string;
    readonly description: string;
  }[];
  /** Bytes of the disk of the data folder. */
  readonly disk: { readonly path: string; readonly free: number; readonly total: number };
}

export interface ServerRuleDeps {
  /** Processes that share the state. */
  instances(): Promise<readonly { readonly name: string; readonly host: string; readonly release: string }[]>;
  migrationSteps(): Promise<{ readonly pending: readonly string[]; readonly later: readonly string[] }>;
  /** Facts of all processes, and the names of silent processes. */
  hosts(): Promise<{ readonly answers: readonly HostFacts[]; readonly missing: readonly string[] }>;
  verifyAudit(): Promise<{ readonly broken?: { readonly id: number; readonly reason: string } }>;
}

/** Milliseconds between verifications of the audit trail, which read all of it. */
const AUDIT_MS = 10 * 60_000;
/** Free part and bytes of a disk below which it is low. */
const LOW_PART = 0.1;
const LOW_BYTES = 5 * 2 ** 30;
const FULL_BYTES = 512 * 2 ** 20;

/** The servers themselves: releases, schema, certificates, disks and the audit trail. */
export function createServerRules(deps: ServerRuleDeps): OpsRule[] {
  // Three rules judge the same report.
  const hosts = shareWork(() => deps.hosts());
  const verifyAudit = keepResult(() => deps.verifyAudit(), AUDIT_MS);
  return [
    { name: 'version-skew', inspect: async () => ({ findings: findSkew(await deps.instances()) }) },
    {
      name: 'migration-pending',
      inspect: async () => ({ findings: findMigrations(await deps.migrationSteps()) }),
    },
    { name: 'certificate-expiring', inspect: () => inspectHosts(hosts, findCertificates) },
    { name: 'clock-skewed', inspect: () => inspectHosts(hosts, findClocks) },
    { name: 'disk-low', inspect: () => inspectHosts(hosts, findDisks) },
    {
      name: 'audit-chain-broken',
      async inspect() {
        const { broken } = await verifyAudit();
        return { findings: broken ? [describeBrokenChain(broken)] : [] };
      },
    },
  ];
}

async function inspectHosts(
  hosts: ServerRuleDeps['hosts'],
  find: (one: HostFacts) => FindingDraft[],
): Promise<Inspection> {
  const { answers, missing } = await hosts();
  // Several processes of a machine report the same.
  const byHost = new Map(answers.map((one) => [one.host, one]));
  return { findings: [...byHost.values()].flatMap(find), silent: missing };
}

function findSkew(instances: Awaited<ReturnType<ServerRuleDeps['instances']>>): FindingDraft[] {
  const byRelease = groupItems(instances, ({ release }) => release);
  if (byRelease.size <= 1) return [];
  const releases = [...byRelease].map(([release, { length }]) => ({ release, processes: length }));
  releases.sort((a, b) => b.processes - a.processes || (a.release < b.release ? -1 : 1));
  const [most, ...others] = releases;
  return others.map(({ release }) => {
    const names = byRelease
      .get(release)!
      .map(({ name }) => name)
      .sort();
    return {
      subject: { releaseVersion: release },
      severity: 'Warning' as const,
      title: `Processes of release ${release} run beside release ${most!.release}`,
      explanation: `${names.length} processes run ${release}, ${most!.processes} run ${most!.release}: ${names.join(', ')}. This is normal during an update. If no update runs, start these servers with the other release.`,
      evidenceRefs: names.map((name) => `instance:${name}`),
      facts: { release, others: most!.release, processes: names },
    };
  });
}

function findMigrations({
  pending,
  later,
}: Awaited<ReturnType<ServerRuleDeps['migrationSteps']>>): FindingDraft[] {
  const describe = (step: string, title: string, explanation: string): FindingDraft => ({
    subject: { targetId: `migration:${step}` },
    severity: 'Warning',
    title,
    explanation,
    evidenceRefs: [`migration:${step}`],
    facts: { step },
  });
  return [
    ...pending.map((step) =>
      describe(
        step,
        `The state lacks the step ${step}`,
        'Restart a server of this release: it adds the step at its start.',
      ),
    ),
    ...later.map((step) =>
      describe(
        step,
        `The state has the step ${step} of a newer release`,
        'A server of a newer release has started on this state. Start the other servers with that release.',
      ),
    ),
  ];
}

const findCertificates = ({ host, checks }: HostFacts) =>
  checks
    .filter(({ name, status }) => name === 'tls-certificate' && status !== 'Healthy')
    .map(
      ({ status, description }): FindingDraft => ({
        subject: { targetId: `host:${host}` },
        severity: status === 'Unhealthy' ? 'Critical' : 'Warning',
        title: `The TLS certificate of ${host} ${status === 'Unhealthy' ? 'has expired' : 'expires soon'}`,
        explanation: `${description} Replace the files of the certificate and its key, and reload the server.`,
        evidenceRefs: [`host:${host}`, 'health:tls-certificate'],
        facts: { host, description },
      }),
    );

const findClocks = ({ host, checks }: HostFacts) =>
  checks
    .filter(({ name, status }) => name === 'clock' && status !== 'Healthy')
    .map(
      ({ description }): FindingDraft => ({
        subject: { targetId: `host:${host}` },
        severity: 'Warning',
        title: `The clock of ${host} is wrong`,
        explanation: `${description} Synchronise both clocks: signatures, leases and times of events depend on them.`,
        evidenceRefs: [`host:${host}`, 'health:clock'],
        facts: { host },
      }),
    );

function findDisks({ host, disk }: HostFacts): FindingDraft[] {
  const { path, free, total } = disk;
  if (free > LOW_BYTES || free > total * LOW_PART) return [];
  const isFull = free < FULL_BYTES;
  return [
    {
      subject: { targetId: `host:${host}` },
      severity: isFull ? 'Critical' : 'Warning',
      title: `The disk of ${path} on ${host} is nearly full`,
      explanation: `${describeSize(free)} of ${describeSize(total)} are free. ${isFull ? 'Soon no edit can be stored. ' : ''}Remove files, or enlarge the disk.`,
      evidenceRefs: [`host:${host}`, 'health:disk'],
      facts: { host, path, isFull },
    },
  ];
}

const describeBrokenChain = ({ id, reason }: { id: number; reason: string }): FindingDraft => ({
  subject: { targetId: 'audit' },
  severity: 'Critical',
  title: 'The audit trail was changed',
  explanation: `Row ${id}: ${reason}. Keep the database as it is, compare it with the checkpoints in the logs, and look for who could write to it.`,
  evidenceRefs: [`audit:${id}`],
  facts: { firstBrokenAuditId: id, reason },
});

const describeSize = (bytes: number) =>
  bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : `${Math.floor(bytes / 2 ** 20)} MiB`;

/** Repeats work only after some milliseconds. A failure is not kept. */
function keepResult<T>(work: () => Promise<T>, ms: number): () => Promise<T> {
  let kept: { readonly at: number; readonly result: Promise<T> } | undefined;
  return () => {
    if (!kept || performance.now() - kept.at > ms) {
      const result = work();
      kept = { at: performance.now(), result };
      result.catch(() => {
        kept = undefined;
      });
    }
    return kept.result;
  };
}
