import Type from 'typebox';
import { OptionalStringSchema, TimestampSchema } from '../admin/envelope.js';
import { OPEN_OBJECT } from '../admin/open-objects.js';

/** Schemas of release packages, inventories and bindings. */

export const ARTIFACT_KINDS = [
  'resource',
  'service',
  'publication',
  'field',
  'catalog',
  'policy',
  'role',
] as const;
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];
const CHANGE_CLASSES = ['metadata', 'content', 'binding', 'policy', 'delete'] as const;
export const PACKAGE_STATES = ['draft', 'ready', 'staged', 'superseded', 'cancelled'] as const;
const BINDING_STATES = ['bound', 'missing', 'environment-unavailable'] as const;

const Json = Type.Object({});
const OptionalJson = Type.Union([Json, Type.Null()]);
const Revision = Type.Integer({ minimum: 0 });
const Kind = Type.Enum([...ARTIFACT_KINDS]);
const Texts = Type.Array(Type.String());

export const Inventory = Type.Object({
  environment: Type.String(),
  revision: Revision,
  etag: Type.String(),
  generatedAt: TimestampSchema,
  entries: Type.Array(
    Type.Object({
      semanticId: Type.String(),
      artifactKind: Kind,
      name: Type.String(),
      namespace: OptionalStringSchema,
      title: OptionalStringSchema,
      status: Type.Enum(['draft', 'active', 'deprecated', 'retired', 'archived']),
      resourceType: OptionalStringSchema,
      serviceType: OptionalStringSchema,
      publicationType: OptionalStringSchema,
      parentSemanticId: OptionalStringSchema,
      policyIds: Texts,
      contentVersionId: OptionalStringSchema,
      metadataGeneration: Type.Union([Revision, Type.Null()]),
      provenance: Type.Array(Json),
    }),
  ),
});

const ID = Type.String({ minLength: 1, maxLength: 520 });
const ENVIRONMENT = Type.String({ minLength: 1, maxLength: 100 });

export const BindingQuery = Type.Object({
  environments: Type.Array(ENVIRONMENT, { minItems: 1, maxItems: 20 }),
  semanticIds: Type.Array(ID, { minItems: 1, maxItems: 1000 }),
});

const parts = { connection: OptionalJson, storage: OptionalJson, resource: OptionalJson };
export const Bindings = Type.Object({
  requestedAt: TimestampSchema,
  environments: Texts,
  bindings: Type.Array(
    Type.Object({
      semanticId: Type.String(),
      environment: Type.String(),
      state: Type.Enum([...BINDING_STATES]),
      artifactKind: Type.Union([Kind, Type.Null()]),
      revision: Type.Union([Revision, Type.Null()]),
      etag: OptionalStringSchema,
      contentVersionId: OptionalStringSchema,
      lastObservedAt: Type.Union([TimestampSchema, Type.Null()]),
      ...parts,
      service: OptionalJson,
      publication: OptionalJson,
      field: OptionalJson,
    }),
  ),
});

const words = (maxLength: number) => Type.Optional(Type.String({ maxLength }));
export const PackageRequest = Type.Object({
  sourceEnvironment: ENVIRONMENT,
  targetEnvironments: Type.Optional(Type.Array(ENVIRONMENT, { maxItems: 20, uniqueItems: true })),
  semanticIds: Type.Optional(Type.Array(ID, { minItems: 1, maxItems: 10_000, uniqueItems: true })),
  packageKey: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][\\w.-]{0,127}$' })),
  namespace: words(128),
  title: words(256),
  summary: words(4000),
  desiredRevision: Type.Optional(Revision),
  desiredContentVersionId: words(256),
  changeClasses: Type.Optional(Type.Record(Type.String(), Type.Enum([...CHANGE_CLASSES]))),
  provenance: Type.Optional(Type.Array(Json, { maxItems: 100 })),
});

const head = {
  status: Type.Enum([...PACKAGE_STATES]),
  sourceEnvironment: Type.String(),
  sourceRevision: Revision,
  targetEnvironments: Texts,
  createdBy: Type.String(),
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
};

/** Parts of packages, which come back in requests: all of their members count for the digest. */
const Metadata = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    namespace: OptionalStringSchema,
    title: OptionalStringSchema,
    description: OptionalStringSchema,
    annotations: Type.Record(Type.String(), Type.String()),
    metadataGeneration: Type.Union([Revision, Type.Null()]),
  },
  OPEN_OBJECT,
);

const TargetState = Type.Object(
  {
    environment: Type.String(),
    bindingState: Type.Enum([...BINDING_STATES]),
    currentMetadataRevision: Type.Union([Revision, Type.Null()]),
    currentContentVersionId: OptionalStringSchema,
    bindingSummary: Json,
  },
  OPEN_OBJECT,
);

const PackageEntry = Type.Object(
  {
    semanticId: Type.String(),
    artifactKind: Kind,
    resourceType: OptionalStringSchema,
    changeClass: Type.Union([Type.Enum([...CHANGE_CLASSES]), Type.Null()]),
    status: Type.Enum(['draft', 'ready']),
    desiredMetadataRevision: Revision,
    desiredContentVersionId: OptionalStringSchema,
    desiredProvenance: Type.Array(Json),
    dependentSemanticIds: Texts,
    sourceField: OptionalJson,
    targetStates: Type.Array(TargetState),
  },
  OPEN_OBJECT,
);

export const Package = Type.Object({
  packageId: Type.String(),
  metadata: Metadata,
  ...head,
  sourceEtag: Type.String(),
  entries: Type.Array(PackageEntry),
  extensions: Json,
});

/** A package as `GET /metadata/release-packages/{packageId}` shows it: it has no resources. */
export const PackageRecord = Type.Object(
  {
    packageId: Type.String(),
    metadata: Metadata,
    entries: Type.Array(PackageEntry),
    sourceEnvironment: Type.String(),
    sourceRevision: Revision,
    sourceEtag: Type.String(),
    targetEnvironments: Texts,
  },
  OPEN_OBJECT,
);

export const PackagePage = Type.Object({
  items: Type.Array(
    Type.Object({
      packageId: Type.String(),
      packageKey: Type.String(),
      namespace: OptionalStringSchema,
      title: OptionalStringSchema,
      summary: OptionalStringSchema,
      ...head,
      entryCount: Type.Integer(),
    }),
  ),
  limit: Type.Integer(),
  offset: Type.Integer(),
  count: Type.Integer(),
  generatedAt: TimestampSchema,
});

export const GitOpsManifest = Type.Object({
  apiVersion: Type.String(),
  kind: Type.Literal('MetadataReleasePackage'),
  metadata: Metadata,
  spec: Type.Object(
    {
      packageId: Type.String(),
      source: Type.Object(
        { environment: Type.String(), revision: Revision, etag: Type.String() },
        OPEN_OBJECT,
      ),
      targets: Type.Array(Type.Object({ environment: Type.String() }, OPEN_OBJECT)),
      entries: Type.Array(PackageEntry),
    },
    OPEN_OBJECT,
  ),
  resources: Type.Array(Json),
  digest: Type.String(),
  signature: OptionalStringSchema,
});
