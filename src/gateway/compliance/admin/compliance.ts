import Type, { type Static } from 'typebox';
import {
  CONTROL_STATUSES,
  type ComplianceDashboard,
  type ControlReport,
  FRAMEWORKS,
} from '../../../core/compliance/compliance.js';
import { badParameter } from '../../../core/errors/errors.js';
import { type Format, negotiate } from '../../../core/http/media.js';
import { type Exchange, formatActor, type Param, type Reply } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { formatDay, REPORT_FORMATS, type ReportFormat } from '../../../services/compliance/compliance.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  errorDocs,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';
import { recordExport } from '../../http/recorded-export.js';

const SERVICES = ['compliance', 'connections'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const S = Type.String();
const B = Type.Boolean();
const I = Type.Integer();
const N = Type.Number();
const StatusSchema = Type.Enum([...CONTROL_STATUSES]);

const ResidencySchema = Type.Object({
  enforced: Type.Boolean({
    description: 'Always false: the server evaluates the policy, and refuses no data.',
  }),
  primaryRegion: S,
  allowedRegions: Type.Array(S),
});
const DashboardSchema = Type.Object({
  generatedAt: TimestampSchema,
  serverVersion: S,
  summary: Type.Object({
    ...{ implemented: I, partiallyImplemented: I, notImplemented: I, notApplicable: I, unknown: I },
    readinessPercent: N,
  }),
  encryption: Type.Object({
    activeKeyVersion: I,
    activeKeyIssuedAt: OptionalTimestampSchema,
    lastRotationAt: OptionalTimestampSchema,
    retainedKeyVersions: I,
    algorithms: Type.Array(S),
    fipsMode: B,
    fipsSource: Type.Enum(['operator-attested', 'runtime-environment-variable', 'unverified']),
  }),
  residency: ResidencySchema,
  controls: Type.Array(
    Type.Object({
      controlId: S,
      title: S,
      description: S,
      framework: Type.Enum([...FRAMEWORKS]),
      status: StatusSchema,
      gaps: Type.Array(S),
      relatedControls: Type.Array(S),
      evidence: Type.Array(
        Type.Object({ claim: S, detail: S, source: S, status: StatusSchema, collectedAt: TimestampSchema }),
      ),
    }),
  ),
});

type ReportRendering = Format & { readonly name: ReportFormat };
const RENDERINGS: readonly ReportRendering[] = [
  { name: 'pdf', mediaType: 'application/pdf' },
  { name: 'csv', mediaType: 'text/csv; charset=utf-8' },
];
/** Days of stored evidence in a report. */
const MAX_DAYS = 400;
const DAY_MS = 86_400_000;

const day = (name: string, description: string): Param<string | undefined> => ({
  name,
  in: 'query',
  description,
  schema: Type.String({ format: 'date' }),
  parse(raw) {
    if (raw === undefined) return undefined;
    const time = /^\d{4}-\d{2}-\d{2}$/.test(raw) ? Date.parse(`${raw}T00:00:00Z`) : Number.NaN;
    // `2026-02-30` is the 2nd of March for the parser.
    if (Number.isNaN(time) || formatDay(time) !== raw)
      throw badParameter(name, 'must be a day, for example 2026-01-31');
    return raw;
  },
});

const reportParams = {
  format: enumeration('format', REPORT_FORMATS, 'Format of the report. Default: the Accept header, or pdf.'),
  from: day('from', 'First day of the stored evidence, UTC. Default: 30 days before the last day.'),
  to: day('to', 'Last day of the stored evidence, UTC. Default: today.'),
};

/** Evidence for controls, residency and encryption. */
export const compliance = group({ tag: 'Compliance', scope: 'compliance', envelope: 'wrapped' }, [
  report('GET /compliance/dashboard', 'Get Compliance Dashboard', {
    description:
      'Evaluates controls of SOC 2 and FedRAMP from facts about the servers. A control that the server cannot evaluate is Unknown, one of the organisation is NotApplicable.',
    data: DashboardSchema,
    answer: async (_x, deps) => dashboardView(await deps.compliance.dashboard()),
  }),
  report('GET /compliance/report', 'Export Compliance Report', {
    description:
      'The dashboard, and the stored evidence of a period. The audit trail records it as an export.',
    params: reportParams,
    exports: true,
    responses: {
      200: { description: 'The report.', content: { 'application/pdf': null, 'text/csv': null } },
      ...errorDocs([400, 406, 503]),
    },
    reply: reportReply,
  }),
  report('POST /compliance/residency/evaluate', 'Evaluate Residency Policy', {
    description: 'Whether the residency policy allows data in a region.',
    body: jsonBody(Type.Object({ region: Type.String({ pattern: '^[\\w.-]{1,64}$' }) })),
    data: Type.Object({ region: S, allowed: B, reason: S, policy: ResidencySchema }),
    errors: [400],
    answer: ({ body: { region } }, { compliance: service }) => ({
      region,
      ...service.evaluateRegion(region),
      policy: residencyView(service),
    }),
  }),
  action('POST /compliance/encryption/rotate-key', 'Advance Compliance Key-Version Posture', {
    description:
      'Same as POST /connections/encryption/rotate-key. Without security.stateKey, there is no key, and succeeded is false.',
    data: Type.Object({
      succeeded: B,
      previousVersion: I,
      newVersion: I,
      rotatedAt: TimestampSchema,
      message: S,
    }),
    answer: ({ principal }, deps) => rotateKey(formatActor(principal), deps),
  }),
]);

async function rotateKey(by: string, { connections }: Deps) {
  const { passwords } = connections;
  if (!passwords.encrypts)
    return {
      ...{ succeeded: false, previousVersion: 0, newVersion: 0, rotatedAt: timestamp(Date.now()) },
      message: 'The setting security.stateKey is not set, so there is no key to rotate.',
    };
  const { before, after, secrets } = await passwords.rotate(by);
  return {
    ...{ succeeded: true, previousVersion: before, newVersion: after.version },
    rotatedAt: timestamp(after.createdAt),
    message: `${secrets} passwords are under key ${after.version}.`,
  };
}

async function reportReply(x: Exchange<typeof reportParams>, { compliance: service }: Deps): Promise<Reply> {
  const { name: format, mediaType } = chooseFormat(x);
  const to = x.params.to ?? formatDay(Date.now());
  const from = x.params.from ?? formatDay(Date.parse(`${to}T00:00:00Z`) - 30 * DAY_MS);
  if (from > to) throw badParameter('from', `must not be after to, which is ${to}`);
  if (Date.parse(to) - Date.parse(from) > MAX_DAYS * DAY_MS)
    throw badParameter('from', `must be at most ${MAX_DAYS} days before to, which is ${to}`);
  const content = await service.report(from, to);
  const options = { deadlineMs: LIMITS.requestDeadlineMs, signal: x.signal, caller: x.caller };
  const bytes = await service.render(content, format, options);
  recordExport(x, { format, filter: { from, to }, count: content.dashboard.controls.length });
  return {
    status: 200,
    mediaType,
    body: bytes,
    headers: { 'content-disposition': `attachment; filename="compliance-${to}.${format}"` },
    cacheControl: 'no-store',
  };
}

function chooseFormat(x: Exchange<typeof reportParams>): ReportRendering {
  const { format } = x.params;
  if (format !== undefined) return RENDERINGS.find(({ name }) => name === format)!;
  return negotiate(undefined, x.header('accept'), RENDERINGS, 'format') as ReportRendering;
}

function residencyView({ residency }: Deps['compliance']): Static<typeof ResidencySchema> {
  return { ...residency, allowedRegions: [...residency.allowedRegions] };
}

function dashboardView({
  generatedAt,
  encryption,
  residency,
  controls,
  ...rest
}: ComplianceDashboard): Static<typeof DashboardSchema> {
  return {
    ...rest,
    generatedAt: timestamp(generatedAt),
    encryption: {
      ...encryption,
      activeKeyIssuedAt: optionalTimestamp(encryption.activeKeyIssuedAt),
      lastRotationAt: optionalTimestamp(encryption.lastRotationAt),
      algorithms: [...encryption.algorithms],
    },
    residency: { ...residency, allowedRegions: [...residency.allowedRegions] },
    controls: controls.map(controlView),
  };
}

function controlView({ gaps, relatedControls, evidence, ...control }: ControlReport) {
  return {
    ...control,
    gaps: [...gaps],
    relatedControls: [...relatedControls],
    evidence: evidence.map(({ collectedAt, ...one }) => ({ ...one, collectedAt: timestamp(collectedAt) })),
  };
}
