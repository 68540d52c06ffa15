import Type, { type Static } from 'typebox';
import { SCENE_LIMITS } from '../../../core/scenes/limits.js';
import { SCENE_TYPES, type SceneSettings } from '../../../core/scenes/scenes.js';
import type { StoredScene } from '../../../services/scenes/registry.js';
import { tagged } from '../../admin/entity-tags.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';

const S = Type.String();
const B = Type.Boolean();
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);

const SceneIdSchema = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  description: 'Id in URLs.',
});
const Degrees = Type.Object({
  xMin: Type.Number(),
  yMin: Type.Number(),
  xMax: Type.Number(),
  yMax: Type.Number(),
});
const Name = Type.String({ minLength: 1, maxLength: 200 });
const Text = Type.String({ maxLength: 2000 });
const CachePolicyBody = Type.Object({
  maxAgeSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400, default: 3600 })),
  noStore: Type.Optional(Type.Boolean({ default: false })),
});
const Roles = Type.Array(Name, { maxItems: SCENE_LIMITS.roles });

const common = {
  description: Type.Optional(orNull(Text)),
  datasetType: Type.Optional(Type.Enum([...SCENE_TYPES], { default: 'hosted_tiles' })),
  tilesetFileName: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, pattern: '^[\\w.-]{1,100}$', default: 'tileset.json' }),
  ),
  extent: Type.Optional(orNull(Degrees)),
  crs: Type.Optional(orNull(Type.String({ maxLength: 200 }))),
  cachePolicy: Type.Optional(CachePolicyBody),
  isPublic: Type.Optional(B),
  requiresAuth: Type.Optional(B),
  allowedRoles: Type.Optional(orNull(Roles)),
  editionGate: Type.Optional(orNull(Name)),
};
const AssetRoot = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'Folder of the tileset: a path in a published folder.',
});

export const RegisterBody = Type.Object({ id: SceneIdSchema, name: Name, assetRoot: AssetRoot, ...common });
export const UpdateBody = Type.Object({
  name: Type.Optional(Name),
  assetRoot: Type.Optional(AssetRoot),
  ...common,
  clearExtent: Type.Optional(B),
  clearCrs: Type.Optional(B),
  clearAllowedRoles: Type.Optional(B),
  clearEditionGate: Type.Optional(B),
});

export const GenerateBody = Type.Object({
  layerId: Type.Integer({ minimum: 1, description: 'Number of a layer of polygons.' }),
  sceneId: Type.Optional(SceneIdSchema),
  displayName: Type.Optional(Name),
  description: Type.Optional(orNull(Text)),
  includeAttributes: Type.Optional(
    Type.Array(Name, { maxItems: 500, description: 'Fields that become attributes. Default: all fields.' }),
  ),
  maxFeatureCount: Type.Optional(Type.Integer({ minimum: 1 })),
  cacheMaxAgeSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: 'Default: 0, so that edits are shown immediately.',
    }),
  ),
  editionGate: Type.Optional(orNull(Name)),
  heightField: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Field with the heights. Default: chosen by its name.',
    }),
  ),
  baseField: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Field with the heights of the ground.' }),
  ),
  metresPerUnit: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1000,
      description: 'Metres per unit of heightField and baseField.',
    }),
  ),
  defaultHeight: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 10_000,
      description: 'Metres, for features without a height.',
    }),
  ),
});

const CachePolicySchema = Type.Object({ maxAgeSeconds: Type.Integer(), noStore: B });
const StatusSchema = Type.Enum(['active', 'inactive', 'validation_failed']);

const summary = {
  datasetId: S,
  id: S,
  name: S,
  description: OptionalStringSchema,
  datasetType: Type.Enum([...SCENE_TYPES]),
  isPublic: B,
  requiresAuth: B,
  status: StatusSchema,
  revision: Type.Integer(),
  createdAt: TimestampSchema,
  updatedAt: OptionalTimestampSchema,
};
export const SceneSummarySchema = Type.Object(summary);
export const SceneSchema = Type.Object({
  ...summary,
  assetRoot: S,
  tilesetFileName: S,
  extent: orNull(Degrees),
  crs: OptionalStringSchema,
  cachePolicy: CachePolicySchema,
  allowedRoles: orNull(Type.Array(S)),
  editionGate: OptionalStringSchema,
  validationMessage: OptionalStringSchema,
  createdBy: OptionalStringSchema,
});

export const ResolvedSchema = Type.Object({
  datasetId: S,
  id: S,
  name: S,
  status: StatusSchema,
  tilesetUrl: S,
  extent: orNull(Degrees),
  crs: OptionalStringSchema,
  isPublic: B,
  requiresAuth: B,
  cachePolicy: CachePolicySchema,
  cesiumJsSnippet: S,
  svcSceneSnippet: S,
});

export const GeneratedSceneSchema = Type.Object({
  sceneId: S,
  serviceId: S,
  intentId: S,
  tilesetUrl: S,
  featureCount: Type.Integer(),
  tileCount: Type.Integer(),
  geometricError: Type.Number(),
  boundingRegionDegrees: Type.Array(Type.Number()),
  warnings: Type.Array(S),
});

export const viewSceneSummary = ({
  id,
  body,
  createdAt,
  updatedAt,
}: StoredScene): Static<typeof SceneSummarySchema> => ({
  datasetId: id,
  id: body.id,
  name: body.name,
  description: body.description,
  datasetType: body.datasetType,
  isPublic: body.isPublic,
  requiresAuth: body.requiresAuth,
  status: body.status,
  revision: body.revision,
  createdAt: timestamp(createdAt),
  updatedAt: timestamp(updatedAt),
});

export function viewScene(stored: StoredScene): Static<typeof SceneSchema> {
  const { body, etag, createdBy } = stored;
  return tagged(
    {
      ...viewSceneSummary(stored),
      assetRoot: body.assetRoot,
      tilesetFileName: body.tilesetFileName,
      extent: body.extent && { ...body.extent },
      crs: body.crs,
      cachePolicy: { ...body.cachePolicy },
      allowedRoles: body.allowedRoles && [...body.allowedRoles],
      editionGate: body.editionGate,
      validationMessage: body.validationMessage,
      createdBy,
    },
    etag,
  );
}

/** Settings of a scene after a request. Members that the request lacks keep their value. */
export function readSettings(
  body: Partial<Omit<Static<typeof RegisterBody>, 'id'>>,
  before: SceneSettings,
): SceneSettings {
  const { cachePolicy, ...members } = body;
  const given = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  return { ...before, ...given, cachePolicy: { ...before.cachePolicy, ...cachePolicy } };
}

export const NEW_SCENE: SceneSettings = {
  name: '',
  description: null,
  datasetType: 'hosted_tiles',
  assetRoot: '',
  tilesetFileName: 'tileset.json',
  extent: null,
  crs: null,
  cachePolicy: { maxAgeSeconds: 3600, noStore: false },
  isPublic: true,
  requiresAuth: false,
  allowedRoles: null,
  editionGate: null,
};
