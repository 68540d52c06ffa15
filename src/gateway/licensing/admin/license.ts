import Type, { type Static } from 'typebox';
import { badMember } from '../../../core/errors/errors.js';
import { type Exchange, formatActor, type Reply } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { CAPACITY_STATES, DEPLOYMENT_ROLES, TOPOLOGIES } from '../../../core/licensing/capacity.js';
import { MAX_LICENCE_BYTES, VALIDATION_STATES } from '../../../core/licensing/licence.js';
import type { CapacityReport } from '../../../services/licensing/capacity.js';
import type { LicenceStatus } from '../../../services/licensing/licences.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  dataSchema,
  errorDocs,
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { listFeatures } from './feature-table.js';

const SERVICES = ['licences', 'capacity'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const S = Type.String();
const B = Type.Boolean();
const I = Type.Integer();
const N = Type.Number();
const optional = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
/** Position in a list of names, as clients read it. */
const ordinal = (names: readonly string[]) =>
  Type.Integer({
    minimum: 0,
    maximum: names.length - 1,
    description: names.map((name, i) => `${i}: ${name}`).join(', '),
  });

const EntitlementSchema = Type.Object({ key: S, name: S, isActive: B });
const StatusSchema = Type.Object({
  edition: S,
  isValid: B,
  validationState: Type.Enum([...VALIDATION_STATES]),
  licenseId: OptionalStringSchema,
  licensedTo: OptionalStringSchema,
  issuedAt: OptionalTimestampSchema,
  expiresAt: OptionalTimestampSchema,
  daysUntilExpiry: optional(I),
  expiryWarning: B,
  entitlements: Type.Array(EntitlementSchema),
});
const UploadSchema = Type.Object({ success: B, message: S });
const FeatureSchema = Type.Object({
  ...{ key: S, displayName: S, category: S, minimumEdition: S, isEnabled: B, upgradeRequired: B },
});
const CapacitySchema = Type.Object({
  state: ordinal(CAPACITY_STATES),
  localDeploymentRole: ordinal(DEPLOYMENT_ROLES),
  localTopology: ordinal(TOPOLOGIES),
  localRoleExcluded: B,
  localServingUnits: N,
  currentServingUnits: N,
  p95ServingUnits: N,
  burstCeilingServingUnits: optional(N),
  burstMultiplier: N,
  gracePeriodDays: I,
  graceStartedAt: OptionalTimestampSchema,
  graceExpiresAt: OptionalTimestampSchema,
  liveInstanceCount: I,
  productionInstanceCount: I,
  excludedInstanceCount: I,
  warning80Percent: B,
  warning100Percent: B,
  meteringGap: B,
  registrationEnforced: Type.Boolean({ description: 'Always false: capacity refuses no server.' }),
  redisConfigured: B,
  redisCoordinated: Type.Boolean({ description: 'Always false: the state coordinates the measurement.' }),
  messages: Type.Array(S),
  surge: Type.Object({
    isActive: B,
    activatedAt: OptionalTimestampSchema,
    reason: OptionalStringSchema,
    annualAllowanceDays: optional(I),
    usedDaysThisYear: N,
    remainingDaysThisYear: optional(N),
  }),
  terms: optional(
    Type.Object({ maxSustainedServingUnits: N, annualSurgeDays: optional(I), surgeAllowance: S }),
  ),
});
const SurgeSchema = Type.Object({
  enabled: B,
  reason: Type.Optional(optional(Type.String({ maxLength: 512 }))),
});

const UPLOAD = {
  schema: Type.Unknown({ description: 'A signed licence: a JWS in compact serialization.' }),
  mediaTypes: ['application/octet-stream'],
  required: true,
  form: 'bytes' as const,
  maxBytes: MAX_LICENCE_BYTES,
};

/** License, entitlements and capacity. */
export const license = group({ tag: 'License', scope: 'license', envelope: 'wrapped' }, [
  report('GET /license', 'Get License Status', {
    data: StatusSchema,
    answer: async (_x, { licences }) => statusView(await licences.readStatus()),
  }),
  action('POST /license', 'Upload License', {
    description:
      'Puts a signed licence file in force on all servers. A file that is not valid changes nothing; the response of status 400 describes the file.',
    body: UPLOAD,
    responses: {
      200: uploadDoc('The licence is in force.', StatusSchema),
      400: uploadDoc('The file is not valid, and the licence in force remains.', StatusSchema),
      ...errorDocs([413]),
    },
    async reply(x, deps) {
      const status = await upload(x, deps);
      return uploadReply(status, statusView(status));
    },
  }),
  report('GET /license/entitlements', 'Get License Entitlements', {
    data: Type.Array(EntitlementSchema),
    answer: async (_x, { licences }) => (await licences.readStatus()).entitlements,
  }),
  report('GET /license/status', 'Get Platform License Status', {
    data: StatusSchema,
    answer: async (_x, { licences }) => statusView(await licences.readStatus()),
  }),
  report('GET /license/features', 'Get License Feature Entitlements', {
    data: Type.Object({ edition: S, features: Type.Array(FeatureSchema) }),
    answer: async (_x, { licences }) => ({
      edition: (await licences.readStatus()).edition,
      features: listFeatures(licences).map(({ key, name, category, minimumEdition, isEnabled }) => ({
        ...{ key, displayName: name, category, minimumEdition, isEnabled, upgradeRequired: !isEnabled },
      })),
    }),
  }),
  action('POST /license/upload', 'Upload License File', {
    description: 'Same as POST /license, with a message instead of the state of the licence.',
    body: UPLOAD,
    responses: {
      200: uploadDoc('The licence is in force.', UploadSchema),
      400: uploadDoc('The file is not valid, and the licence in force remains.', UploadSchema),
      ...errorDocs([413]),
    },
    async reply(x, deps) {
      const status = await upload(x, deps);
      return uploadReply(status, { success: status.isValid, message: describeUpload(status) });
    },
  }),
  report('GET /license/capacity', 'Get License Capacity State', {
    description:
      'A serving unit is a CPU that a production server can use. No state of the capacity refuses a request.',
    data: CapacitySchema,
    errors: [400],
    answer: async (_x, { capacity }) => capacityView(await capacity.report()),
  }),
  action('POST /license/capacity/surge', 'Set License Surge Mode', {
    description: 'Starts or ends surge mode, in which the use above the licence does not count.',
    body: jsonBody(SurgeSchema),
    data: CapacitySchema,
    errors: [400],
    async answer({ body: { enabled, reason }, principal }, { capacity }) {
      const problem = await capacity.setSurge(enabled, formatActor(principal), reason ?? null);
      if (problem !== undefined) throw badMember('enabled', problem);
      return capacityView(await capacity.report());
    },
  }),
]);

function uploadDoc(description: string, schema: Type.TSchema) {
  return { description, content: { 'application/json': dataSchema(schema, 'wrapped') } };
}

function upload({ body, principal }: Exchange, { licences }: Deps): Promise<LicenceStatus> {
  return licences.upload(body as Uint8Array, formatActor(principal));
}

/** Clients read the reason of a refused file from the envelope. */
function uploadReply(status: LicenceStatus, data: unknown): Reply {
  const timestamp = new Date().toISOString();
  const message = describeUpload(status);
  return json(
    { success: status.isValid, data, message, timestamp },
    'application/json',
    status.isValid ? 200 : 400,
  );
}

function describeUpload({ isValid, licence, validationState, problem }: LicenceStatus): string {
  if (isValid) return `The licence ${licence!.licenseId} is in force until ${licence!.expiresAt}.`;
  return `The licence file is not accepted (${validationState}): ${problem}. The licence in force remains.`;
}

function statusView(status: LicenceStatus): Static<typeof StatusSchema> {
  const { edition, isValid, validationState, licence, daysUntilExpiry, expiryWarning, entitlements } = status;
  return {
    ...{ edition, isValid, validationState },
    licenseId: licence?.licenseId ?? null,
    licensedTo: licence?.licensedTo ?? null,
    issuedAt: licence ? utc(licence.issuedAt) : null,
    expiresAt: licence ? utc(licence.expiresAt) : null,
    ...{ daysUntilExpiry, expiryWarning, entitlements: [...entitlements] },
  };
}

const utc = (instant: string) => new Date(instant).toISOString();

function capacityView(report: CapacityReport): Static<typeof CapacitySchema> {
  const { terms, surge } = report;
  return {
    state: CAPACITY_STATES.indexOf(report.state),
    localDeploymentRole: DEPLOYMENT_ROLES.indexOf(report.role),
    localTopology: TOPOLOGIES.indexOf(report.topology),
    localRoleExcluded: report.isExcluded,
    localServingUnits: report.localUnits,
    currentServingUnits: report.currentUnits,
    p95ServingUnits: report.p95Units,
    burstCeilingServingUnits: report.ceiling,
    burstMultiplier: report.burstMultiplier,
    gracePeriodDays: report.gracePeriodDays,
    graceStartedAt: optionalTimestamp(report.graceStartedAt),
    graceExpiresAt: optionalTimestamp(report.graceExpiresAt),
    liveInstanceCount: report.liveCount,
    productionInstanceCount: report.productionCount,
    excludedInstanceCount: report.excludedCount,
    warning80Percent: report.warning80Percent,
    warning100Percent: report.warning100Percent,
    meteringGap: report.meteringGap,
    registrationEnforced: false,
    redisConfigured: report.hasRedis,
    redisCoordinated: false,
    messages: [...report.messages],
    surge: {
      isActive: surge.isActive,
      activatedAt: optionalTimestamp(surge.activatedAt),
      reason: surge.reason,
      annualAllowanceDays: surge.annualDays,
      usedDaysThisYear: surge.usedDays,
      remainingDaysThisYear: surge.remainingDays,
    },
    terms: terms
      ? {
          maxSustainedServingUnits: terms.maxSustainedServingUnits,
          annualSurgeDays: terms.annualSurgeDays ?? null,
          surgeAllowance:
            surge.annualDays === null ? 'unlimited' : `${surge.annualDays} days per calendar year`,
        }
      : null,
  };
}
