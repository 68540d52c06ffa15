import type { Static } from 'typebox';
import Type from 'typebox';
import { badMember } from '../../../core/errors/errors.js';
import { type Exchange, formatActor } from '../../../core/http/operation.js';
import { flag, pathString } from '../../../core/http/params.js';
import type { SceneDataset, SceneSettings } from '../../../core/scenes/scenes.js';
import { generateScene } from '../../../services/scenes/generate.js';
import { readIfMatch } from '../../admin/conditional.js';
import type { ServicesOf } from '../../admin/deps.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { writeCesiumSnippet, writeHtmlSnippet } from '../snippets.js';
import { tilesetUrl } from '../urls.js';
import {
  GenerateBody,
  GeneratedSceneSchema,
  NEW_SCENE,
  RegisterBody,
  ResolvedSchema,
  readSettings,
  SceneSchema,
  SceneSummarySchema,
  UpdateBody,
  viewScene,
  viewSceneSummary,
} from './scene-schemas.js';

const SERVICES = ['scenes', 'visible', 'liveScenes'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report, implement } = createRowBuilders(SERVICES);

const byId = { id: pathString('id', 'Number of the scene: `datasetId`.') };

/** Scenes: tilesets of files, and tilesets of the features of a layer. */
export const scenes = group({ tag: 'Scenes', scope: 'scenes', envelope: 'raw' }, [
  ...resource(
    '/scenes/{id}',
    {
      list: 'List Scene Datasets',
      create: 'Register Scene Dataset',
      get: 'Get Scene Dataset',
      update: 'Update Scene Dataset',
      remove: 'Deactivate Scene Dataset',
    },
    {
      list: implement({
        description: 'The oldest first.',
        params: {
          includeInactive: flag('includeInactive', false, 'Whether to list inactive scenes as well.'),
        },
        data: Type.Array(SceneSummarySchema),
        answer: async ({ params }, { scenes: registry }) =>
          (await registry.list({ includeInactive: params.includeInactive })).map(viewSceneSummary),
      }),
      create: implement({
        description:
          'Publishes the tileset of a folder. A scene whose tileset is invalid has the status `validation_failed`, and its files are not served.',
        body: jsonBody(RegisterBody),
        data: SceneSchema,
        status: 201,
        errors: [400, 409],
        location: ({ datasetId }: Static<typeof SceneSchema>) => `/scenes/${datasetId}`,
        async answer({ body, principal }, { scenes: registry }) {
          const { id, ...members } = body;
          const settings = checkSettings(readSettings(members, NEW_SCENE));
          return viewScene(await registry.register(id, settings, formatActor(principal)));
        },
      }),
      get: implement({
        params: byId,
        data: SceneSchema,
        errors: [404],
        answer: async ({ params }, { scenes: registry }) => viewScene(await registry.read(params.id)),
      }),
      update: implement({
        description: 'Members that are absent keep their value. The tileset is validated again.',
        params: byId,
        body: jsonBody(UpdateBody),
        data: SceneSchema,
        errors: [400, 404, 409, 412],
        async answer(x, { scenes: registry }) {
          const change = (before: SceneDataset) => checkSettings(applyUpdate(x.body, before));
          const by = { by: formatActor(x.principal), ifMatch: readIfMatch(x) };
          return viewScene(await registry.update(x.params.id, change, by));
        },
      }),
      remove: implement({
        description:
          'The scene becomes inactive: its files are not served any more. Its id can be used again.',
        params: byId,
        data: Type.Null(),
        status: 204,
        errors: [404, 412],
        async answer(x, { scenes: registry }) {
          await registry.deactivate(x.params.id, formatActor(x.principal), readIfMatch(x));
          return null;
        },
      }),
    },
  ),
  action('POST /scenes/generate', 'Generate Scene From Feature Layer', {
    description:
      'Creates a scene whose tiles are encoded from the polygons of a layer at each request, so that they show every edit. Readers see the features and attributes that they see in the layer.',
    body: jsonBody(GenerateBody),
    data: GeneratedSceneSchema,
    status: 201,
    errors: [400, 404, 409, 503],
    answer: generate,
  }),
  action('POST /scenes/ingest/citygml', 'Ingest CityGML Scene'),
  action('POST /scenes/ingest/pointcloud', 'Ingest Point Cloud Scene'),
  report('GET /scenes/{id}/resolve', 'Resolve Scene Dataset', {
    description: 'URL of the tileset, and code to show it.',
    params: byId,
    data: ResolvedSchema,
    errors: [404],
    async answer({ params, baseUrl }, { scenes: registry }) {
      const { id: datasetId, body } = await registry.read(params.id);
      const url = tilesetUrl(baseUrl, body);
      return {
        datasetId,
        id: body.id,
        name: body.name,
        status: body.status,
        tilesetUrl: url,
        extent: body.extent && { ...body.extent },
        crs: body.crs,
        isPublic: body.isPublic,
        requiresAuth: body.requiresAuth,
        cachePolicy: { ...body.cachePolicy },
        cesiumJsSnippet: writeCesiumSnippet(url),
        svcSceneSnippet: writeHtmlSnippet(url),
      };
    },
  }),
]);

async function generate(x: Exchange<Record<never, never>, Static<typeof GenerateBody>>, deps: Deps) {
  const { body, principal, baseUrl } = x;
  const { scene, plan, box, error, warnings } = await generateScene(x, deps, {
    ...body,
    description: body.description ?? null,
    editionGate: body.editionGate ?? null,
    catalog: deps.visible(principal),
    by: formatActor(principal),
  });
  return {
    sceneId: scene.body.id,
    serviceId: `scene:${scene.body.id}`,
    intentId: scene.id,
    tilesetUrl: tilesetUrl(baseUrl, scene.body),
    featureCount: plan.features,
    tileCount: plan.tiles,
    geometricError: error,
    boundingRegionDegrees: [...box],
    warnings,
  };
}

function applyUpdate(body: Static<typeof UpdateBody>, before: SceneDataset): SceneSettings {
  const { clearExtent, clearCrs, clearAllowedRoles, clearEditionGate, ...members } = body;
  if (before.live && members.assetRoot !== undefined)
    throw badMember('assetRoot', 'cannot be set, because the tiles of this scene come from a layer');
  return {
    ...readSettings(members, before),
    ...(clearExtent ? { extent: null } : {}),
    ...(clearCrs ? { crs: null } : {}),
    ...(clearAllowedRoles ? { allowedRoles: null } : {}),
    ...(clearEditionGate ? { editionGate: null } : {}),
  };
}

function checkSettings(settings: SceneSettings): SceneSettings {
  const { extent, isPublic, requiresAuth, allowedRoles } = settings;
  if (extent && (extent.yMin > extent.yMax || Math.abs(extent.yMin) > 90 || Math.abs(extent.yMax) > 90))
    throw badMember('extent', 'must have yMin and yMax from -90 to 90, the smaller one first');
  if (extent && [extent.xMin, extent.xMax].some((x) => Math.abs(x) > 180))
    throw badMember('extent', 'must have xMin and xMax from -180 to 180');
  // A public scene with a condition would be public for some readers only.
  if (isPublic && allowedRoles !== null && allowedRoles.length > 0 && !requiresAuth)
    throw badMember('allowedRoles', 'needs requiresAuth, because anonymous readers have no roles');
  return settings;
}
