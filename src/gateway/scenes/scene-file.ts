import { extname, join } from 'node:path';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { VectorCollection } from '../../core/catalog/collection.js';
import { findNumbered } from '../../core/catalog/find.js';
import { notFound } from '../../core/errors/errors.js';
import { findCompression } from '../../core/http/content-coding.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { isCell } from '../../core/scenes/scene-cells.js';
import type { LiveScene, SceneDataset } from '../../core/scenes/scenes.js';
import { stringifyExactly } from '../../core/values/json.js';
import { type LiveScenes, writeTileset } from '../../services/scenes/live-scenes.js';
import type { TilesetFolders } from '../../services/scenes/tileset-folders.js';
import { acceptsCoding } from '../http/replies/compression.js';
import { fileReply } from '../http/replies/file-reply.js';
import type { SurfaceDeps } from '../surface/common.js';

export interface SceneFileDeps extends Pick<SurfaceDeps, 'visible'> {
  readonly liveScenes: LiveScenes;
  readonly tilesetFolders: TilesetFolders;
}

const GLB = 'model/gltf-binary';

/** Media types of the files of tilesets. Other files are `application/octet-stream`. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.json': 'application/json',
  '.geojson': 'application/geo+json',
  '.glb': GLB,
  '.gltf': 'model/gltf+json',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.ktx2': 'image/ktx2',
};

/** Replies with a file of a scene that the caller may read. Throws `not-found` for other files. */
export async function sceneFileReply(
  x: Exchange,
  scene: SceneDataset,
  assetPath: string,
  deps: SceneFileDeps,
): Promise<Reply> {
  // Clients know only this name of the root tileset.
  const path = assetPath === 'tileset.json' ? scene.tilesetFileName : assetPath;
  const cacheControl = formatCacheControl(scene);
  if (scene.live) return { ...(await liveReply(x, scene, scene.live, path, deps)), cacheControl };
  const root = await deps.tilesetFolders.find(scene.assetRoot).catch(() => undefined);
  if (root === undefined || path.split('/').includes('..')) throw notFound('file', path.slice(0, 200));
  const mediaType = MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream';
  const reply = await fileReply(x, { path: join(root, path), mediaType, root });
  // Tiles are read by programs, not saved by people.
  const { 'content-disposition': _, ...headers } = reply.headers ?? {};
  return { ...reply, headers, cacheControl };
}

async function liveReply(
  x: Exchange,
  scene: SceneDataset,
  live: LiveScene,
  path: string,
  { visible, liveScenes }: SceneFileDeps,
): Promise<Reply> {
  const collection = findNumbered(visible(x.principal), live.layerId);
  if (!hasFeatures(collection)) throw notFound('file', path);
  if (path === scene.tilesetFileName) return tilesetReply(x, scene, live, collection, liveScenes);
  const [, level, column, row] = /^tiles\/(\d{1,2})\/(\d{1,8})\/(\d{1,8})\.glb$/.exec(path) ?? [];
  const cell = { level: Number(level), column: Number(column), row: Number(row) };
  if (row === undefined || !isCell(cell)) throw notFound('file', path.slice(0, 200));
  const coding = acceptsCoding(x.header('accept-encoding'), 'gzip') ? 'gzip' : 'identity';
  const { data, encoding, tag } = await liveScenes.encode(x, collection, live, { cell, encoding: coding });
  return { status: 200, mediaType: GLB, body: data, encoding: findCompression(encoding), etag: tag };
}

async function tilesetReply(
  x: Exchange,
  scene: SceneDataset,
  live: LiveScene,
  collection: VectorCollection,
  liveScenes: LiveScenes,
): Promise<Reply> {
  const plan = await liveScenes.plan(x, collection, live);
  const body = stringifyExactly(writeTileset(plan, scene.name));
  return { status: 200, mediaType: 'application/json', body, etag: contentTag(Buffer.from(body)) };
}

/** Readers of a layer can see different features, so caches between them and the server must not keep its tiles. */
function formatCacheControl({ live, isPublic, requiresAuth, cachePolicy }: SceneDataset): string {
  const { maxAgeSeconds, noStore } = cachePolicy;
  if (noStore) return 'no-store';
  const scope = live || !isPublic || requiresAuth ? 'private' : 'public';
  return maxAgeSeconds === 0 ? `${scope}, no-cache` : `${scope}, max-age=${maxAgeSeconds}`;
}
