import { createHash } from 'node:crypto';
import type {
  ComplianceDashboard,
  ComplianceReport,
  ControlReport,
  EncryptionPosture,
  ResidencyPolicy,
} from '../../core/compliance/compliance.js';
import type { Pools, TaskOptions } from '../../core/tasks/tasks.js';
import { canonical } from '../../core/values/fingerprint.js';
import type { ComplianceEvidenceStore } from '../../stores/compliance/evidence.js';
import {
  reportCacheHits,
  reportCacheMisses,
  reportRenderFailures,
  reportRenders,
} from '../telemetry/licence-metrics.js';
import { evaluateControls, summarize } from './controls.js';
import { collectFacts, type FactReaders } from './facts.js';
import { writeReportCsv } from './report-csv.js';

export interface ComplianceDeps {
  readonly facts: FactReaders;
  readonly encryption: () => Promise<EncryptionPosture>;
  readonly residency: ResidencyPolicy;
  readonly store: ComplianceEvidenceStore;
  readonly pools: Pick<Pools, 'run'>;
  readonly version: string;
  now(): number;
}

export const REPORT_FORMATS = ['pdf', 'csv'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

const DAY_MS = 86_400_000;
/** Days for which evidence is kept. */
const KEPT_DAYS = 400;
/** Milliseconds for which a rendered report is used again, if its content has not changed. */
const RENDERED_MS = 300_000;
const MAX_RENDERED = 8;

interface RenderedReport {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** The day of a time, UTC. */
export const formatDay = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Controls that are evaluated from facts about the servers, and their evidence by day. */
export class Compliance {
  readonly #rendered = new Map<string, RenderedReport>();
  #evaluation: Promise<ControlReport[]> | undefined;
  #storedDay: string | undefined;
  /** Day on which evidence was stored and old evidence deleted. */
  #keptDay: string | undefined;

  constructor(private readonly deps: ComplianceDeps) {}

  get residency(): ResidencyPolicy {
    return this.deps.residency;
  }

  /** Evaluates all controls now. Requests at the same time share an evaluation. */
  async dashboard(): Promise<ComplianceDashboard> {
    const [controls, encryption] = await Promise.all([this.#evaluate(), this.deps.encryption()]);
    const { version, residency, now } = this.deps;
    // A dashboard also works while the state can only be read. The next turn of `keepEvidence` reports the error.
    await this.#keep(controls).catch(() => {});
    return {
      generatedAt: now(),
      serverVersion: version,
      summary: summarize(controls),
      ...{ encryption, residency, controls },
    };
  }

  /** Stores the evidence of the day, unless a process has done so. */
  async keepEvidence(): Promise<void> {
    const day = formatDay(this.deps.now());
    if (this.#keptDay === day) return;
    if (!(await this.deps.store.has(day))) await this.#keep(await this.#evaluate());
    await this.deps.store.prune(formatDay(this.deps.now() - KEPT_DAYS * DAY_MS));
    this.#keptDay = day;
  }

  /** The present dashboard with the stored evidence of the days from `from` to `to`. */
  async report(from: string, to: string): Promise<ComplianceReport> {
    const dashboard = await this.dashboard();
    const rows = await this.deps.store.list(from, to);
    const days = rows.map(({ day, control_id, status, collected_at, digest }) => ({
      ...{ day, controlId: control_id, status, collectedAt: collected_at, digest },
    }));
    return { dashboard, from, to, days };
  }

  /** Renders a report. A report with the same content is rendered once in five minutes. */
  async render(report: ComplianceReport, format: ReportFormat, options: TaskOptions): Promise<Uint8Array> {
    const { now, pools } = this.deps;
    const key = `${format} ${digestContent(report)}`;
    const known = this.#rendered.get(key);
    if (known && now() - known.at < RENDERED_MS) {
      reportCacheHits.cell().inc();
      return known.bytes;
    }
    reportCacheMisses.cell().inc();
    try {
      const bytes =
        format === 'csv'
          ? Buffer.from(writeReportCsv(report), 'utf8')
          : await pools.run('report.pdf', { report }, options);
      reportRenders.cell(format).inc();
      this.#rendered.delete(key);
      this.#rendered.set(key, { at: now(), bytes });
      if (this.#rendered.size > MAX_RENDERED) this.#rendered.delete(this.#rendered.keys().next().value!);
      return bytes;
    } catch (error) {
      reportRenderFailures.cell(format).inc();
      throw error;
    }
  }

  /** Whether the policy allows data in a region, and the reason. */
  evaluateRegion(region: string): { allowed: boolean; reason: string } {
    const { allowedRegions } = this.deps.residency;
    if (allowedRegions.length === 0)
      return {
        allowed: true,
        reason: 'No regions are set in compliance.allowedRegions, so all are allowed.',
      };
    const allowed = allowedRegions.some((one) => one.toLowerCase() === region.toLowerCase());
    const listed = allowedRegions.join(', ');
    return {
      allowed,
      reason: allowed ? `The region is one of ${listed}.` : `The region is not one of ${listed}.`,
    };
  }

  #evaluate(): Promise<ControlReport[]> {
    const { facts, now } = this.deps;
    this.#evaluation ??= collectFacts(facts, now)
      .then(evaluateControls)
      .finally(() => {
        this.#evaluation = undefined;
      });
    return this.#evaluation;
  }

  /** Stores the evidence of the day, unless it is stored already. */
  async #keep(controls: readonly ControlReport[]): Promise<void> {
    const { now, store } = this.deps;
    const at = now();
    const day = formatDay(at);
    if (this.#storedDay === day) return;
    await store.add(controls.map((control) => buildEvidenceRow(control, day, at)));
    this.#storedDay = day;
  }
}

function buildEvidenceRow(control: ControlReport, day: string, at: number) {
  const content_json = canonical(control);
  return {
    ...{ day, control_id: control.controlId, status: control.status, content_json, collected_at: at },
    digest: createHash('sha256').update(content_json).digest('hex'),
  };
}

/** Digest of the content without the times at which it was collected. */
function digestContent({ dashboard, ...period }: ComplianceReport): string {
  const { generatedAt: _generated, controls, ...rest } = dashboard;
  const timeless = controls.map(({ evidence, ...control }) => ({
    ...control,
    evidence: evidence.map(({ collectedAt: _collected, ...one }) => one),
  }));
  return createHash('sha256')
    .update(JSON.stringify([rest, timeless, period]))
    .digest('base64url');
}
