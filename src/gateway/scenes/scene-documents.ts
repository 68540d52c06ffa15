import type { SceneDataset } from '../../core/scenes/scenes.js';
import type { StoredScene } from '../../services/scenes/registry.js';
import { SCENES_PATH, tilesetUrl } from './urls.js';

export const CATALOG_PATH = '/api/scenes';

/** Capabilities of every scene. */
const CAPABILITIES = ['3d-tiles'] as const;

export const listSceneCapabilities = (): readonly string[] => CAPABILITIES;

const isOpen = ({ isPublic, requiresAuth }: SceneDataset) => isPublic && !requiresAuth;

/** Description of a scene for clients of tiles. */
export function sceneDocument(baseUrl: string, { id: datasetId, body, updatedAt }: StoredScene) {
  const url = tilesetUrl(baseUrl, body);
  const { extent } = body;
  return {
    id: body.id,
    name: body.name,
    description: body.description,
    datasetId,
    datasetType: body.datasetType,
    capabilities: listSceneCapabilities(),
    tileset: {
      url,
      kind: '3d-tiles',
      mediaType: 'application/json',
      format: '3d-tiles',
      requiresAuthentication: !isOpen(body),
    },
    tilesetUrl: url,
    terrain: null,
    endpoints: [{ rel: 'tileset', url, mediaType: 'application/json' }],
    ...(extent
      ? {
          bbox: [extent.xMin, extent.yMin, extent.xMax, extent.yMax],
          bounds: {
            minLongitude: extent.xMin,
            minLatitude: extent.yMin,
            maxLongitude: extent.xMax,
            maxLatitude: extent.yMax,
          },
          center: {
            longitude: (extent.xMin + extent.xMax) / 2,
            latitude: (extent.yMin + extent.yMax) / 2,
            height: 0,
          },
        }
      : {}),
    auth: {
      public: isOpen(body),
      requiresAuthentication: !isOpen(body),
      schemes: isOpen(body) ? [] : ['apiKey', 'bearer', 'basic'],
    },
    access: sceneAccess(body),
    revision: body.revision,
    updatedAt: new Date(updatedAt).toISOString(),
    links: [
      { rel: 'self', href: `${baseUrl}${CATALOG_PATH}/${body.id}`, type: 'application/json' },
      { rel: 'tileset', href: url, type: 'application/json' },
    ],
  };
}

function sceneAccess(body: SceneDataset) {
  const { maxAgeSeconds, noStore } = body.cachePolicy;
  return {
    mode: isOpen(body) ? 'public' : 'headers',
    corsMode: 'cors',
    customHeadersAllowed: true,
    cache: {
      public: isOpen(body) && body.live === undefined,
      maxAgeSeconds: noStore ? 0 : maxAgeSeconds,
      staleWhileRevalidateSeconds: 0,
      noStore,
    },
  };
}

/** A scene with everything that a client needs to load it. */
export function resolvedScene(baseUrl: string, stored: StoredScene) {
  const document = sceneDocument(baseUrl, stored);
  return {
    ...document,
    sceneId: document.id,
    scene: document,
    filesUrl: `${baseUrl}${SCENES_PATH}/${document.id}/`,
  };
}
