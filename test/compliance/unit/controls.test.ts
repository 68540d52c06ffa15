import { describe, expect, it } from 'vitest';
import { CHECKS, type CheckId } from '../../../src/services/compliance/checks.js';
import { CONTROLS, evaluateControls, summarize } from '../../../src/services/compliance/controls.js';
import { type ComplianceFacts, collectFacts } from '../../../src/services/compliance/facts.js';
import { GOOD_FACTS, NOW, readersOf } from '../support/facts.js';

const DAY_MS = 86_400_000;

/** Changes that remove the fact of each check, and a part of the gap. `disk` has no fact. */
const LOSSES: Readonly<
  Record<Exclude<CheckId, 'diskEncryption'>, readonly [Partial<ComplianceFacts>, RegExp][]>
> = {
  managementPermissions: [[{ operations: { total: 9, open: ['admin.x.y'], unaudited: [] } }, /admin\.x\.y/]],
  auditCoverage: [[{ operations: { total: 9, open: [], unaudited: ['admin.x.y'] } }, /admin\.x\.y/]],
  stateKey: [[{ stateKey: false }, /security\.stateKey is not set/]],
  storedSecrets: [
    [{ secrets: { isValid: false, message: "The password of 'a' cannot be read." } }, /of 'a'/],
  ],
  keyAge: [
    [{ keyIssuedAt: null }, /no key version/],
    [{ keyIssuedAt: NOW - 366 * DAY_MS }, /older than 365 days/],
  ],
  transport: [
    [{ transport: { servesTls: false, isBehindTls: false, certificate: undefined } }, /server\.tls\.cert/],
    [{ transport: { servesTls: false, isBehindTls: true, certificate: undefined } }, /proxy/],
    [{ transport: { servesTls: true, isBehindTls: false, certificate: 'Unhealthy' } }, /Unhealthy/],
  ],
  anonymousData: [
    [{ layers: { total: 4, anonymous: 1 } }, /1 layers are public/],
    [{ layers: { total: 4, anonymous: 4 } }, /4 layers are public/],
  ],
  namedUsers: [[{ users: { active: 0 } }, /no users/]],
  centralSignIn: [[{ providers: { enabled: 0 } }, /No OpenID Connect provider/]],
  keyExpiry: [
    [{ apiKeys: { ...GOOD_FACTS.apiKeys, withoutEnd: 1 } }, /1 active API keys do not expire/],
    [{ apiKeys: { ...GOOD_FACTS.apiKeys, withoutEnd: 3 } }, /3 active API keys do not expire/],
  ],
  unusedKeys: [[{ apiKeys: { ...GOOD_FACTS.apiKeys, unused: 2 } }, /2 active API keys were not used/]],
  leastPrivilege: [[{ apiKeys: { ...GOOD_FACTS.apiKeys, unrestricted: 1 } }, /1 active API keys have all/]],
  passwordAttempts: [[{ passwordAttempts: 0 }, /security\.passwordAttempts is 0/]],
  auditChain: [
    [
      { auditChain: { rows: 7, broken: { id: 5, reason: 'the row was changed' } } },
      /row 5: the row was changed/,
    ],
    [{ auditChain: { rows: 0, broken: undefined } }, /no rows yet/],
  ],
  auditCheckpoints: [
    [{ checkpoints: { newestAt: null, rowsSince: 9 } }, /no signed checkpoint/],
    [{ checkpoints: { newestAt: NOW - 1000, rowsSince: 5000 } }, /overdue/],
    [{ checkpoints: { newestAt: NOW - DAY_MS, rowsSince: 1 } }, /overdue/],
  ],
  auditReview: [
    [{ auditReview: { isForwarded: false, exports: 0 } }, /observability\.otlpEndpoint/],
    [{ auditReview: { isForwarded: false, exports: 3 } }, /observability\.otlpEndpoint/],
  ],
  notices: [[{ noticeChannels: [] }, /alerts\.notices\.channels/]],
  monitoring: [[{ monitoring: { metrics: false, otlp: false } }, /observability\.enabled/]],
  health: [
    [{ health: 'Degraded' }, /Degraded/],
    [{ health: 'Unhealthy' }, /Unhealthy/],
  ],
  backups: [
    [{ backups: { newestAt: null } }, /never saved/],
    [{ backups: { newestAt: NOW - 25 * 3_600_000 } }, /older than 24 hours/],
    [{ backups: undefined }, /PostgreSQL/],
  ],
  redundancy: [[{ servers: { count: 1, releases: ['2026.3.0'] } }, /Only one server/]],
  currentRelease: [[{ servers: { count: 2, releases: ['2026.3.0', '2026.3.1'] } }, /several releases/]],
  migrations: [[{ pendingMigrations: 2 }, /2 migration steps/]],
  approvals: [[{ approvals: [] }, /processes\.approval/]],
  signedReleases: [[{ signsReleases: false }, /releases\.key/]],
  fips: [[{ fips: false }, /FIPS mode/]],
};

const evaluate = async (change: Partial<ComplianceFacts> = {}) =>
  evaluateControls(await collectFacts(readersOf({ ...GOOD_FACTS, ...change }), () => NOW));

describe('controls', () => {
  it('are those of SOC 2 and FedRAMP, with evidence or a reason', async () => {
    const controls = await evaluate();
    expect(controls.map(({ controlId }) => controlId)).toEqual([
      ...['CC6.1', 'CC6.2', 'CC6.3', 'CC6.4', 'CC6.5', 'CC6.6', 'CC6.7', 'CC6.8', 'CC7.1', 'CC7.2', 'CC7.3'],
      ...['CC7.4', 'CC8.1', 'A1.2', 'AC-2', 'AC-3', 'AC-6', 'AU-2', 'AU-6', 'AU-9', 'AU-10', 'IA-2', 'IA-5'],
      ...['SC-8', 'SC-12', 'SC-13', 'SC-28', 'CM-3'],
    ]);
    for (const { controlId, status, evidence, gaps, description } of controls) {
      const isOrganisational = ['CC6.4', 'CC6.5', 'CC6.8', 'CC7.4'].includes(controlId);
      // Nothing shows to the server that disks are encrypted.
      const isUnseen = controlId === 'SC-28';
      expect([controlId, status]).toEqual([
        controlId,
        isOrganisational ? 'NotApplicable' : isUnseen ? 'PartiallyImplemented' : 'Implemented',
      ]);
      expect(evidence.length > 0).toBe(!isOrganisational);
      expect(gaps.length > 0).toBe(isUnseen);
      expect(description).not.toBe('');
    }
    expect(summarize(controls)).toEqual({
      ...{ implemented: 23, partiallyImplemented: 1, notImplemented: 0, notApplicable: 4, unknown: 0 },
      readinessPercent: 97.9,
    });
  });

  it('name the controls of the other framework that share a check', async () => {
    const controls = new Map((await evaluate()).map((one) => [one.controlId, one.relatedControls]));
    expect(controls.get('CC6.3')).toEqual(['AC-2', 'AC-6']);
    expect(controls.get('SC-8')).toEqual(['CC6.6', 'CC6.7']);
    expect(controls.get('SC-13')).toEqual([]);
  });

  for (const [check, losses] of Object.entries(LOSSES))
    for (const [change, gap] of losses)
      it(`with ${check} are not implemented without its fact: ${JSON.stringify(change)}`, async () => {
        const affected = CONTROLS.filter(({ checks }) => checks.includes(check as CheckId));
        expect(affected.length).toBeGreaterThan(0);
        const controls = await evaluate(change);
        for (const { id } of affected) {
          const { status, gaps, evidence } = controls.find(({ controlId }) => controlId === id)!;
          expect([id, status]).not.toEqual([id, 'Implemented']);
          expect(gaps.join(' ')).toMatch(gap);
          const found = evidence.find(({ claim }) => claim === CHECKS[check as CheckId].claim);
          expect(found?.status).not.toBe('Implemented');
        }
        const [other] = controls.filter(
          ({ controlId }) => controlId !== 'SC-28' && !affected.some(({ id }) => id === controlId),
        );
        expect(['Implemented', 'NotApplicable']).toContain(other!.status);
        const again = (await evaluate()).filter(({ controlId }) =>
          affected.some(({ id }) => id === controlId),
        );
        for (const { controlId, status } of again)
          expect(status).toBe(controlId === 'SC-28' ? 'PartiallyImplemented' : 'Implemented');
      });

  it('have a loss for each fact of the checks', () => {
    expect(Object.keys(LOSSES).sort()).toEqual(
      Object.keys(CHECKS)
        .filter((one) => one !== 'diskEncryption')
        .sort(),
    );
  });

  it('whose fact cannot be read are unknown, and others are not affected', async () => {
    const readers = {
      ...readersOf(GOOD_FACTS),
      async fips(): Promise<boolean> {
        throw new Error('no OpenSSL');
      },
    };
    const controls = evaluateControls(await collectFacts(readers, () => NOW));
    expect(controls.find(({ controlId }) => controlId === 'SC-13')).toMatchObject({
      status: 'Unknown',
      gaps: [expect.stringContaining('no OpenSSL')],
      evidence: [{ status: 'Unknown' }],
    });
    expect(summarize(controls)).toMatchObject({ unknown: 1, implemented: 22 });
  });
});
