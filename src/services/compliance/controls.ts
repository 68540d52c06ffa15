import type {
  ComplianceSummary,
  ControlReport,
  ControlStatus,
  Framework,
} from '../../core/compliance/compliance.js';
import { type CheckId, runCheck } from './checks.js';
import type { CollectedFacts } from './facts.js';

export interface Control {
  readonly id: string;
  readonly framework: Framework;
  readonly title: string;
  readonly description: string;
  readonly checks: readonly CheckId[];
  /** Reason why the control is not one of the server. It has no checks. */
  readonly notApplicable?: string;
}

const soc2 = (id: string, title: string, description: string, ...checks: CheckId[]): Control => ({
  ...{ id, framework: 'Soc2', title, description, checks },
});
const fedRamp = (id: string, title: string, description: string, ...checks: CheckId[]): Control => ({
  ...{ id, framework: 'FedRamp', title, description, checks },
});
const organisational = (id: string, title: string, notApplicable: string): Control => ({
  ...soc2(id, title, notApplicable),
  notApplicable,
});

/** Controls of which the server knows facts, and those of the organisation. */
export const CONTROLS: readonly Control[] = [
  soc2(
    'CC6.1',
    'Logical access security',
    'Access to data and management is restricted, and secrets are protected.',
    ...(['managementPermissions', 'anonymousData', 'stateKey', 'storedSecrets'] as const),
  ),
  soc2(
    'CC6.2',
    'Registration and authorization of users',
    'Users are registered before they get credentials.',
    ...(['namedUsers', 'centralSignIn'] as const),
  ),
  soc2(
    'CC6.3',
    'Role-based access and least privilege',
    'Access rights are limited, and removed when they are not needed.',
    ...(['leastPrivilege', 'unusedKeys'] as const),
  ),
  organisational(
    'CC6.4',
    'Physical access',
    'The operator of the data centre restricts physical access. The server cannot see it.',
  ),
  organisational(
    'CC6.5',
    'Disposal of assets',
    'The organisation disposes of disks and machines. The server cannot see it.',
  ),
  soc2(
    'CC6.6',
    'Protection against threats from outside',
    'Connections are protected, and attacks on passwords are limited.',
    ...(['transport', 'passwordAttempts', 'anonymousData'] as const),
  ),
  soc2(
    'CC6.7',
    'Transmission of information',
    'Information is protected during transmission, and secrets also at rest.',
    ...(['transport', 'storedSecrets'] as const),
  ),
  organisational(
    'CC6.8',
    'Malicious software',
    'The operator of the machine protects it against malicious software. The server cannot see it.',
  ),
  soc2(
    'CC7.1',
    'Detection of configuration changes',
    'Servers and state are of one release, and their condition is checked.',
    ...(['currentRelease', 'migrations', 'health'] as const),
  ),
  soc2(
    'CC7.2',
    'Monitoring of components',
    'The server reports its condition and failures, and the audit trail is intact.',
    ...(['monitoring', 'notices', 'auditChain'] as const),
  ),
  soc2(
    'CC7.3',
    'Evaluation of security events',
    'People receive security events, so that they can evaluate them.',
    ...(['auditReview', 'notices'] as const),
  ),
  organisational(
    'CC7.4',
    'Response to security incidents',
    'People of the organisation respond to incidents. The server records the evidence.',
  ),
  soc2(
    'CC8.1',
    'Change management',
    'Changes are approved, signed and recorded.',
    ...(['approvals', 'signedReleases', 'auditCoverage'] as const),
  ),
  soc2(
    'A1.2',
    'Backups and redundancy',
    'The state is saved, and other servers continue when one fails.',
    ...(['backups', 'redundancy'] as const),
  ),
  fedRamp(
    'AC-2',
    'Account management',
    'Accounts belong to people, expire, and are removed when they are not used.',
    ...(['namedUsers', 'keyExpiry', 'unusedKeys'] as const),
  ),
  fedRamp(
    'AC-3',
    'Access enforcement',
    'The server enforces permissions for management and data.',
    ...(['managementPermissions', 'anonymousData'] as const),
  ),
  fedRamp('AC-6', 'Least privilege', 'Credentials have only the rights that they need.', 'leastPrivilege'),
  fedRamp('AU-2', 'Event logging', 'The server records changes.', 'auditCoverage'),
  fedRamp('AU-6', 'Audit review and reporting', 'Audit records are reviewed.', 'auditReview'),
  fedRamp(
    'AU-9',
    'Protection of audit information',
    'Changed or deleted audit records are detected.',
    ...(['auditChain', 'auditCheckpoints', 'stateKey'] as const),
  ),
  fedRamp(
    'AU-10',
    'Non-repudiation',
    'Signatures attest audit records.',
    ...(['auditCheckpoints', 'auditChain'] as const),
  ),
  fedRamp(
    'IA-2',
    'Identification and authentication',
    'People are identified individually.',
    ...(['namedUsers', 'centralSignIn'] as const),
  ),
  fedRamp(
    'IA-5',
    'Authenticator management',
    'Credentials expire, and are protected against guessing and disclosure.',
    ...(['keyExpiry', 'passwordAttempts', 'storedSecrets'] as const),
  ),
  fedRamp('SC-8', 'Transmission confidentiality and integrity', 'Connections are protected.', 'transport'),
  fedRamp(
    'SC-12',
    'Cryptographic key establishment and management',
    'Keys exist outside of the state, and are rotated.',
    ...(['stateKey', 'keyAge'] as const),
  ),
  fedRamp('SC-13', 'Cryptographic protection', 'Cryptography is validated by FIPS 140.', 'fips'),
  fedRamp(
    'SC-28',
    'Protection of information at rest',
    'Stored secrets and data are encrypted.',
    ...(['stateKey', 'storedSecrets', 'diskEncryption'] as const),
  ),
  fedRamp(
    'CM-3',
    'Configuration change control',
    'Changes are approved, signed and recorded.',
    ...(['approvals', 'signedReleases', 'auditCoverage'] as const),
  ),
];

/** Evaluates all controls. */
export function evaluateControls(facts: CollectedFacts): ControlReport[] {
  return CONTROLS.map((control) => evaluateControl(control, facts));
}

function evaluateControl(control: Control, facts: CollectedFacts): ControlReport {
  const { id, framework, title, description, checks, notApplicable } = control;
  const common = { controlId: id, title, description, framework, relatedControls: findRelated(control) };
  if (notApplicable !== undefined) return { ...common, status: 'NotApplicable', gaps: [], evidence: [] };
  const results = checks.map((check) => runCheck(check, facts));
  return {
    ...common,
    status: combineStatuses(results.map(({ evidence }) => evidence.status)),
    gaps: results.flatMap(({ gap }) => (gap === undefined ? [] : [gap])),
    evidence: results.map(({ evidence }) => evidence),
  };
}

/** Controls of the other framework that have a check in common. */
function findRelated({ framework, checks }: Control): string[] {
  return CONTROLS.filter(
    (other) => other.framework !== framework && other.checks.some((check) => checks.includes(check)),
  ).map(({ id }) => id);
}

function combineStatuses(statuses: readonly ControlStatus[]): ControlStatus {
  const has = (status: ControlStatus) => statuses.includes(status);
  if (statuses.length > 0 && statuses.every((one) => one === 'Implemented')) return 'Implemented';
  if (has('Implemented') || has('PartiallyImplemented')) return 'PartiallyImplemented';
  return has('NotImplemented') ? 'NotImplemented' : 'Unknown';
}

export function summarize(controls: readonly Pick<ControlReport, 'status'>[]): ComplianceSummary {
  const count = (status: ControlStatus) => controls.filter((one) => one.status === status).length;
  const [implemented, partiallyImplemented] = [count('Implemented'), count('PartiallyImplemented')];
  const notApplicable = count('NotApplicable');
  const applicable = controls.length - notApplicable;
  const share = applicable === 0 ? 0 : (implemented + partiallyImplemented / 2) / applicable;
  return {
    ...{ implemented, partiallyImplemented, notApplicable },
    notImplemented: count('NotImplemented'),
    unknown: count('Unknown'),
    readinessPercent: Math.round(share * 1000) / 10,
  };
}
