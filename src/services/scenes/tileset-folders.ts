import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { badMember } from '../../core/errors/errors.js';
import { isBelow, isInFolder } from '../../core/files/folders.js';
import { SCENE_LIMITS } from '../../core/scenes/limits.js';
import type { SceneSettings } from '../../core/scenes/scenes.js';

type Location = Pick<SceneSettings, 'assetRoot' | 'tilesetFileName'>;

/** Folders of tilesets. They must be in a published folder. */
export class TilesetFolders {
  /** `folders` returns the published folders and files. */
  constructor(private readonly folders: () => readonly string[]) {}

  /**
   * Returns the real path of a folder: an absolute path, or a path in one of the published folders. Throws
   * `invalid-body` if it does not exist, or is in none of them after links are resolved.
   */
  async find(assetRoot: string): Promise<string> {
    for (const folder of this.folders()) {
      const root = await realpath(folder).catch(() => undefined);
      if (root === undefined) continue;
      const path = isAbsolute(assetRoot) ? normalize(assetRoot) : join(root, assetRoot);
      const real = await realpath(path).catch(() => undefined);
      if (real === undefined || !isInFolder(real, root)) continue;
      if ((await stat(real)).isDirectory()) return real;
    }
    throw badMember('assetRoot', `must be a folder in a published folder, not '${assetRoot.slice(0, 200)}'`);
  }

  /** Returns the reason why a tileset cannot be served, undefined if it can. Throws as `find`. */
  async validate({ assetRoot, tilesetFileName }: Location): Promise<string | undefined> {
    const root = await this.find(assetRoot);
    const path = join(root, tilesetFileName);
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined || !isBelow(real, root)) return `${tilesetFileName}: the folder has no such file.`;
    const { size } = await stat(real);
    if (size > SCENE_LIMITS.tilesetBytes)
      return `${tilesetFileName}: the file has ${size} bytes. At most ${SCENE_LIMITS.tilesetBytes} are supported.`;
    return findTilesetProblem(await readFile(real, 'utf8'));
  }
}

interface TilesetTile {
  boundingVolume?: Record<string, unknown>;
  geometricError?: unknown;
  content?: { uri?: unknown; url?: unknown };
  contents?: { uri?: unknown }[];
  children?: TilesetTile[];
}

/** Returns the first error of a tileset (OGC 22-025r4, clause 7). Undefined for a valid one. */
function findTilesetProblem(text: string): string | undefined {
  let tileset: { asset?: { version?: unknown }; geometricError?: unknown; root?: TilesetTile };
  try {
    tileset = JSON.parse(text) as typeof tileset;
  } catch {
    return 'The tileset is not JSON.';
  }
  const version = tileset?.asset?.version;
  if (version !== '1.0' && version !== '1.1')
    return `asset.version: must be 1.0 or 1.1, not ${JSON.stringify(version) ?? 'absent'}.`;
  if (!isError(tileset.geometricError)) return 'geometricError: must be a number of at least 0.';
  if (typeof tileset.root !== 'object' || tileset.root === null) return 'root: must be a tile.';
  const tiles: [TilesetTile, string][] = [[tileset.root, 'root']];
  for (let next = tiles.pop(); next !== undefined; next = tiles.pop()) {
    const [tile, path] = next;
    if (typeof tile !== 'object' || tile === null) return `${path}: must be a tile.`;
    if (!isError(tile.geometricError)) return `${path}.geometricError: must be a number of at least 0.`;
    const { box, region, sphere } = tile.boundingVolume ?? {};
    if (!isNumbers(box, 12) && !isNumbers(region, 6) && !isNumbers(sphere, 4))
      return `${path}.boundingVolume: must have a box, a region or a sphere.`;
    for (const content of [...(tile.content ? [tile.content] : []), ...(tile.contents ?? [])]) {
      const uri = content.uri ?? (content as { url?: unknown }).url;
      if (typeof uri !== 'string') return `${path}.content.uri: must be a string.`;
      if (!isInside(uri)) return `${path}.content.uri: '${uri.slice(0, 200)}' is not a path in the folder.`;
    }
    for (const [i, child] of (tile.children ?? []).entries()) tiles.push([child, `${path}.children[${i}]`]);
  }
  return undefined;
}

const isError = (value: unknown) => typeof value === 'number' && value >= 0;

const isNumbers = (value: unknown, count: number) =>
  Array.isArray(value) && value.length === count && value.every((one) => typeof one === 'number');

/** Whether a URI is a relative path that does not leave its folder. */
function isInside(uri: string): boolean {
  if (/^[a-z][a-z0-9+.-]*:|^\/|\\/i.test(uri)) return false;
  return !normalize(uri.split(/[?#]/)[0]!).startsWith('..');
}
