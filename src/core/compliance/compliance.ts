/** Status of a control, and of a piece of evidence. */
export const CONTROL_STATUSES = [
  'Implemented',
  'PartiallyImplemented',
  'NotImplemented',
  'NotApplicable',
  'Unknown',
] as const;
export type ControlStatus = (typeof CONTROL_STATUSES)[number];

export const FRAMEWORKS = ['Soc2', 'FedRamp'] as const;
export type Framework = (typeof FRAMEWORKS)[number];

/** A fact about the server that supports a control, or contradicts it. */
export interface Evidence {
  readonly claim: string;
  readonly detail: string;
  /** Part of the server that the fact was read from. */
  readonly source: string;
  readonly status: ControlStatus;
  /** Milliseconds since 1970. */
  readonly collectedAt: number;
}

export interface ControlReport {
  readonly controlId: string;
  readonly title: string;
  readonly description: string;
  readonly framework: Framework;
  readonly status: ControlStatus;
  readonly gaps: readonly string[];
  readonly relatedControls: readonly string[];
  readonly evidence: readonly Evidence[];
}

export interface ComplianceSummary {
  readonly implemented: number;
  readonly partiallyImplemented: number;
  readonly notImplemented: number;
  readonly notApplicable: number;
  readonly unknown: number;
  /** Implemented controls, and half of the partially implemented ones, as a share of the applicable ones. */
  readonly readinessPercent: number;
}

export interface EncryptionPosture {
  /** 0 without a key. */
  readonly activeKeyVersion: number;
  readonly activeKeyIssuedAt: number | null;
  readonly lastRotationAt: number | null;
  readonly retainedKeyVersions: number;
  readonly algorithms: readonly string[];
  readonly fipsMode: boolean;
  readonly fipsSource: 'operator-attested' | 'runtime-environment-variable' | 'unverified';
}

export interface ResidencyPolicy {
  readonly enforced: boolean;
  readonly primaryRegion: string;
  readonly allowedRegions: readonly string[];
}

export interface ComplianceDashboard {
  readonly generatedAt: number;
  readonly serverVersion: string;
  readonly summary: ComplianceSummary;
  readonly encryption: EncryptionPosture;
  readonly residency: ResidencyPolicy;
  readonly controls: readonly ControlReport[];
}

/** Stored status of a control on a day. */
interface DailyStatus {
  readonly day: string;
  readonly controlId: string;
  readonly status: string;
  readonly collectedAt: number;
  /** SHA-256 of the stored evidence. */
  readonly digest: string;
}

/** Content of a report: the present dashboard, and the stored evidence of a period. */
export interface ComplianceReport {
  readonly dashboard: ComplianceDashboard;
  /** First and last day. */
  readonly from: string;
  readonly to: string;
  readonly days: readonly DailyStatus[];
}

/** Tasks of the pool of reports. */
export interface ReportTasks {
  'report.pdf': { input: { report: ComplianceReport }; output: Uint8Array };
}
