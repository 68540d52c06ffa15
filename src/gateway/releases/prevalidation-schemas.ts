import Type, { type Static } from 'typebox';
import { ARTIFACT_KINDS, GitOpsManifest, PackageRecord } from './schemas.js';

/** Request and report of the prevalidation of a release package. */

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const FieldOfContract = Type.Union([Text(256), Type.Object({ name: Text(256) })]);
const Contract = Type.Object({
  resources: Type.Array(
    Type.Object({
      semanticId: Text(520),
      exists: Type.Boolean(),
      fields: Type.Optional(Type.Array(FieldOfContract, { maxItems: 2000 })),
    }),
    { maxItems: 1000 },
  ),
});
const Script = Type.Object({
  scriptId: Text(256),
  title: Type.Optional(Type.String({ maxLength: 256 })),
  kind: Type.Optional(Type.String({ maxLength: 128 })),
  notes: Type.Optional(Type.String({ maxLength: 4000 })),
  reversible: Type.Boolean(),
  targetEnvironment: Type.Optional(Text(100)),
  declaredOperations: Type.Optional(Type.Array(Type.String({ maxLength: 1000 }), { maxItems: 1000 })),
  beforeContract: Type.Optional(Contract),
  afterContract: Type.Optional(Contract),
});
export type Script = Static<typeof Script>;

export const PrevalidationRequest = Type.Object({
  targetEnvironment: Text(100),
  releasePackageId: Type.Optional(Text(256)),
  releasePackage: Type.Optional(Type.Union([GitOpsManifest, PackageRecord])),
  dataScripts: Type.Optional(Type.Array(Script, { maxItems: 100 })),
});

const NullableText = Type.Union([Type.String(), Type.Null()]);
const NullableNumber = Type.Union([Type.Integer(), Type.Null()]);
const Side = Type.Object({ label: Type.String(), value: NullableText });
const Kind = Type.Enum([...ARTIFACT_KINDS]);
const CompatibilityFinding = Type.Object({
  code: Type.String(),
  kind: Type.String(),
  severity: Type.Enum(['info', 'warning', 'error']),
  message: Type.String(),
  affectedSemanticId: Type.String(),
  affectedSemanticKind: Kind,
  affectedParentSemanticId: NullableText,
  displayName: NullableText,
  expected: Side,
  actual: Side,
  requiredAction: Type.String(),
  coverageState: Type.Enum(['not-applicable', 'uncovered', 'covered-by-script', 'unknown']),
  coveringScriptId: NullableText,
  coverageNotes: NullableText,
});
export type CompatibilityFinding = Static<typeof CompatibilityFinding>;

export const PrevalidationSchema = Type.Object({
  status: Type.Enum(['ready', 'warning', 'blocked', 'unknown']),
  canPromote: Type.Boolean(),
  canCreatePullRequest: Type.Boolean(),
  releasePackageId: NullableText,
  packageKey: NullableText,
  sourceEnvironment: NullableText,
  sourceRevision: NullableNumber,
  sourceEtag: NullableText,
  targetEnvironment: Type.String(),
  targetRevision: NullableNumber,
  targetEtag: NullableText,
  generatedAt: Type.String(),
  findings: Type.Array(CompatibilityFinding),
  affectedDependents: Type.Array(
    Type.Object({
      semanticId: Type.String(),
      semanticKind: Kind,
      displayName: NullableText,
      relationshipKind: NullableText,
      viaSemanticId: NullableText,
      impactSeverity: Type.Enum(['info', 'warning', 'error']),
      reason: Type.String(),
    }),
  ),
  coveredErrorCount: Type.Integer(),
  uncoveredErrorCount: Type.Integer(),
  warningCount: Type.Integer(),
  scriptCount: Type.Integer(),
  rollbackReadiness: Type.Object({
    classification: Type.Enum([
      ...['metadata-only', 'service-revision', 'script-reversible', 'snapshot-required', 'manual'],
    ]),
    reason: Type.String(),
    requiresManualAction: Type.Boolean(),
    requiresSnapshot: Type.Boolean(),
    scriptIds: Type.Array(Type.String()),
  }),
});
