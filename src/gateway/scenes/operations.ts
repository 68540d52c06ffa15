import Type from 'typebox';
import { notFound } from '../../core/errors/errors.js';
import { JSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import { flag, pathString } from '../../core/http/params.js';
import { json } from '../../core/http/reply.js';
import { permits } from '../../services/access/permissions.js';
import type { SceneRegistry, StoredScene } from '../../services/scenes/registry.js';
import { findRefusal, READ_SCENES, requireReader } from '../../services/scenes/scene-access.js';
import { CATALOG_PATH, listSceneCapabilities, resolvedScene, sceneDocument } from './scene-documents.js';
import { type SceneFileDeps, sceneFileReply } from './scene-file.js';
import { SCENES_PATH } from './urls.js';

export interface ScenesDeps extends SceneFileDeps {
  readonly scenes: SceneRegistry;
}

const COMMON = {
  surface: 'tiles',
  protocol: 'OGC-Tiles',
  permission: 'public',
  method: 'GET',
  tag: 'Scenes',
} as const;

const DOCUMENT = {
  formats: [JSON_FORMAT],
  responses: {
    200: { description: 'Scenes', content: { 'application/json': Type.Object({}) } },
    401: { description: 'Credentials are required' },
    403: { description: 'The caller may not read the scene' },
    404: { description: 'The scene does not exist' },
  },
} as const;

const sceneId = pathString('sceneId', 'Id of a scene.');

const capabilities = {
  name: 'capabilities',
  in: 'query',
  description: 'Names of capabilities that scenes must have, separated by commas: 3d-tiles.',
  schema: Type.String({ maxLength: 200 }),
  parse: (raw: string | undefined) =>
    (raw ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
} as const;

/** Whether scenes have all capabilities that a client needs. */
const hasAll = (names: readonly string[]) => names.every((name) => listSceneCapabilities().includes(name));

/** Scenes as their readers see them, and the files of their tilesets. */
export function sceneOperations(deps: ScenesDeps): Operation[] {
  const find = async (x: Exchange, id: string): Promise<StoredScene> => {
    const scene = await deps.scenes.findActive(id);
    if (!scene) throw notFound('scene', id.slice(0, 100));
    requireReader(x.principal, scene.body);
    return scene;
  };
  return [
    defineOperation({
      ...COMMON,
      ...DOCUMENT,
      id: 'scenes.list',
      path: CATALOG_PATH,
      summary: 'Scenes',
      description: 'Lists the scenes that the caller can read.',
      params: {
        capabilities,
        includeDisabled: flag('includeDisabled', false, 'Whether operators get inactive scenes as well.'),
      },
      async run(x) {
        const includeInactive = x.params.includeDisabled && permits(x.principal, READ_SCENES);
        const scenes = await deps.scenes.list({ includeInactive });
        const shown = scenes.filter(
          ({ body }) => (includeInactive || body.status === 'active') && !findRefusal(x.principal, body),
        );
        const listed = hasAll(x.params.capabilities) ? shown : [];
        return json({ scenes: listed.map((scene) => sceneDocument(x.baseUrl, scene)) });
      },
    }),
    defineOperation({
      ...COMMON,
      ...DOCUMENT,
      id: 'scenes.get',
      path: `${CATALOG_PATH}/{sceneId}`,
      summary: 'A scene',
      params: { sceneId },
      run: async (x) => json(sceneDocument(x.baseUrl, await find(x, x.params.sceneId))),
    }),
    defineOperation({
      ...COMMON,
      ...DOCUMENT,
      id: 'scenes.resolve',
      path: `${CATALOG_PATH}/{sceneId}/resolve`,
      summary: 'URLs of a scene',
      description: 'Returns the URL of the tileset, and how to read it.',
      params: {
        sceneId,
        capabilities,
        includeTerrain: flag(
          'includeTerrain',
          false,
          'Accepted for existing clients. Scenes have no terrain.',
        ),
      },
      run: async (x) => json(resolvedScene(x.baseUrl, await find(x, x.params.sceneId))),
    }),
    defineOperation({
      ...COMMON,
      id: 'scenes.getFile',
      path: `${SCENES_PATH}/{sceneId}/{assetPath}`,
      takesRest: true,
      summary: 'A file of a tileset',
      description:
        'Returns `tileset.json`, or another file that it refers to. Supports ranges. Tiles of live scenes are encoded at each request.',
      params: {
        sceneId,
        assetPath: pathString('assetPath', 'Path of the file, with its slashes.', 1000),
      },
      formats: [],
      responses: {
        200: {
          description: 'The file',
          content: { 'application/json': Type.Object({}), 'model/gltf-binary': null },
        },
        206: { description: 'A range of the file' },
        401: { description: 'Credentials are required' },
        403: { description: 'The caller may not read the scene' },
        404: { description: 'The scene or the file does not exist' },
        416: { description: 'The range is not in the file' },
        503: { description: 'The source of the features does not respond, or the server is busy' },
      },
      async run(x) {
        const { body } = await find(x, x.params.sceneId);
        return sceneFileReply(x, body, x.params.assetPath, deps);
      },
    }),
  ];
}
