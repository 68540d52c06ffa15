import type { ComplianceFacts, FactReaders } from '../../../src/services/compliance/facts.js';

/** A time at which the good facts are fresh. */
export const NOW = Date.UTC(2026, 10, 30, 12);

/** Facts of a server on which every check that a server can make is implemented. */
export const GOOD_FACTS: ComplianceFacts = {
  operations: { total: 100, open: [], unaudited: [] },
  stateKey: true,
  secrets: { isValid: true, message: '3 passwords are encrypted and can be read.' },
  keyIssuedAt: NOW - 1000,
  transport: { servesTls: true, isBehindTls: false, certificate: 'Healthy' },
  layers: { total: 4, anonymous: 0 },
  users: { active: 2 },
  providers: { enabled: 1 },
  apiKeys: { active: 3, withoutEnd: 0, unused: 0, unrestricted: 0 },
  passwordAttempts: 30,
  auditChain: { rows: 12, broken: undefined },
  checkpoints: { newestAt: NOW - 1000, rowsSince: 5 },
  auditReview: { isForwarded: true, exports: 0 },
  noticeChannels: ['email'],
  monitoring: { metrics: true, otlp: false },
  health: 'Healthy',
  backups: { newestAt: NOW - 3_600_000 },
  servers: { count: 2, releases: ['2026.3.0'] },
  pendingMigrations: 0,
  approvals: ['geometry.buffer'],
  signsReleases: true,
  fips: true,
  diskEncryption: undefined,
};

export function readersOf(facts: ComplianceFacts): FactReaders {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, () => value]),
  ) as unknown as FactReaders;
}
