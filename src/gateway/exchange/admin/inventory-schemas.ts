import Type from 'typebox';
import { OptionalStringSchema } from '../../admin/envelope.js';

/** Inventories of sources of migrations on the wire. */

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const Texts = Type.Array(S);
const OptionalInteger = Type.Union([I, Type.Null()]);
const OptionalBoolean = Type.Union([B, Type.Null()]);

export const INVENTORY_KIND = 'svc.migration.source-inventory';

export const CompatibilitySchema = Type.Object({
  level: Type.Enum(['compatible', 'partial', 'incompatible']),
  reason: S,
  code: OptionalStringSchema,
  warnings: Texts,
  manualSteps: Texts,
});

const References = Type.Array(
  Type.Object({
    role: S,
    sourceValue: OptionalStringSchema,
    srid: OptionalInteger,
    crsUri: OptionalStringSchema,
  }),
);
const Metadata = Type.Record(S, S);

export const InventorySchema = Type.Object({
  artifactKind: Type.Literal(INVENTORY_KIND),
  artifactVersion: S,
  sourceKind: Type.Enum(['geoserver-rest', 'arcgis-geoservices-rest']),
  source: Type.Object({
    baseUrl: S,
    displayName: S,
    product: OptionalStringSchema,
    version: OptionalStringSchema,
    build: OptionalStringSchema,
    serviceType: OptionalStringSchema,
  }),
  authPosture: Type.Object({ mode: S, credentialsSupplied: B, accessConfirmed: B, notes: Texts }),
  scanCompleteness: Type.Object({
    status: Type.Enum(['complete', 'partial', 'failed']),
    warnings: Texts,
    missingArtifacts: Texts,
  }),
  summary: Type.Object({
    containerCount: I,
    resourceCount: I,
    styleCount: I,
    externalDependencyCount: I,
    compatibleCount: I,
    partiallyCompatibleCount: I,
    incompatibleCount: I,
  }),
  overallCompatibility: CompatibilitySchema,
  containers: Type.Array(
    Type.Object({
      id: S,
      kind: S,
      name: S,
      title: OptionalStringSchema,
      description: OptionalStringSchema,
      isDefault: OptionalBoolean,
      compatibility: CompatibilitySchema,
    }),
  ),
  resources: Type.Array(
    Type.Object({
      id: S,
      containerId: S,
      kind: S,
      name: S,
      title: OptionalStringSchema,
      description: OptionalStringSchema,
      geometryType: OptionalStringSchema,
      featureCount: OptionalInteger,
      hasAttachments: OptionalBoolean,
      capabilities: Texts,
      fields: Type.Array(
        Type.Object({
          name: S,
          fieldType: S,
          alias: OptionalStringSchema,
          nullable: OptionalBoolean,
          domainType: Type.Null(),
          domainName: Type.Null(),
          domainValues: Type.Array(Type.Object({})),
        }),
      ),
      spatialReferences: References,
      styleIds: Texts,
      externalDependencyIds: Texts,
      compatibility: CompatibilitySchema,
    }),
  ),
  styles: Type.Array(
    Type.Object({
      id: S,
      containerId: S,
      kind: S,
      name: S,
      format: OptionalStringSchema,
      metadata: Metadata,
      resourceIds: Texts,
      externalDependencyIds: Texts,
      compatibility: CompatibilitySchema,
    }),
  ),
  externalDependencies: Type.Array(
    Type.Object({
      id: S,
      containerId: S,
      resourceId: OptionalStringSchema,
      kind: S,
      name: S,
      dependencyType: OptionalStringSchema,
      address: OptionalStringSchema,
      metadata: Metadata,
      spatialReferences: References,
      compatibility: CompatibilitySchema,
    }),
  ),
});
