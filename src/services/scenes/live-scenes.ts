import { LRUCache } from 'lru-cache';
import { readable, type VectorCollection } from '../../core/catalog/collection.js';
import { LIMITS } from '../../core/kit/limits.js';
import {
  buildSceneTree,
  type CellAddress,
  computeCellBox,
  type SceneNode,
} from '../../core/scenes/scene-cells.js';
import type { SceneCellsResult, SceneFeatures, SceneTileResult } from '../../core/scenes/scene-tiles.js';
import type { LiveScene } from '../../core/scenes/scenes.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { stringifyExactly } from '../../core/values/json.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Features of a tile, if the smallest cells do not have more. */
const TILE_FEATURES = 1000;
/** Tiles of a tileset. Scenes with more features have more of them in each tile. */
const MAX_TILES = 4000;
/** Level of the cells: 180 degrees divided by 2^18 are about 76 m. */
const CELL_LEVEL = 18;
/** Cells of larger scenes are 16 times as large, because each of them takes memory. */
const COARSE_LEVEL = 16;
const MANY_FEATURES = 1_000_000;

const RADIANS = Math.PI / 180;
const METRES_PER_DEGREE = 111_319.49;
/** Error of a tile without its children, as a part of its size: children replace it at 10 times this distance. */
const ERROR_PART = 0.1;

/** Bytes of tiles in the memory of a process. */
const KEPT_BYTES = 64 * 2 ** 20;
/** Bytes of a tile in addition to its data. */
const ENTRY_BYTES = 1000;

/** The tree of a scene as its readers see it. */
export interface ScenePlan {
  readonly roots: readonly SceneNode[];
  readonly features: number;
  readonly tiles: number;
  /** Numbers of omitted features by reason, absent for none. */
  readonly withoutHeight?: number;
  readonly withoutArea?: number;
  readonly unreadable?: number;
}

/**
 * Tiles of scenes that are encoded from features, so that they show every edit. The address of a tile
 * is a cell of a quadtree, and does not depend on the features.
 */
export class LiveScenes {
  readonly #plans = new LRUCache<string, Promise<ScenePlan>>({ max: 100 });
  readonly #tiles = new LRUCache<string, SceneTileResult>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ data }) => data.byteLength + ENTRY_BYTES,
  });
  readonly #encoding = new Map<string, Promise<SceneTileResult>>();

  constructor(private readonly pools: Pools) {}

  /** Counts the features of a scene, as far as the collection shows them. Kept until the data changes. */
  plan(x: TaskContext, collection: VectorCollection, live: LiveScene): Promise<ScenePlan> {
    const key = formatContent(collection, live);
    const known = this.#plans.get(key);
    if (known) return known;
    const plan = this.#count(x, collection, live);
    this.#plans.set(key, plan, { ttl: findLifetime(collection) });
    plan.catch(() => this.#plans.delete(key));
    return plan;
  }

  async #count(x: TaskContext, collection: VectorCollection, live: LiveScene): Promise<ScenePlan> {
    const isLarge = (collection.featureCount ?? 0) > MANY_FEATURES;
    const level = isLarge ? COARSE_LEVEL : CELL_LEVEL;
    const task = { ...buildQuery(collection, live), level };
    const { cells, ...counts } = await runTask(withoutSignal(x), this.pools, 'vector.sceneCells', task);
    return summarise(cells, level, counts);
  }

  /** Encodes a tile, once for all requests at the same time. Kept in memory until the data changes. */
  async encode(
    x: TaskContext,
    collection: VectorCollection,
    live: LiveScene,
    { cell, encoding }: { cell: CellAddress; encoding: 'identity' | 'gzip' },
  ): Promise<SceneTileResult> {
    const { level, column, row } = cell;
    const key = `${formatContent(collection, live)} ${level}/${column}/${row} ${encoding}`;
    const kept = this.#tiles.get(key) ?? this.#encoding.get(key);
    if (kept) return kept;
    const names = collection.source.fields.map(({ name }) => name);
    const work = runTask(withoutSignal(x), this.pools, 'vector.sceneTile', {
      ...buildQuery(collection, live),
      fields: live.fields ? names.filter((name) => live.fields!.includes(name)) : names,
      window: computeCellBox(cell),
      encoding,
    });
    this.#encoding.set(key, work);
    try {
      const tile = await work;
      this.#tiles.set(key, tile, { ttl: findLifetime(collection) });
      return tile;
    } finally {
      this.#encoding.delete(key);
    }
  }
}

/** Names the content of a scene: its data, and the rows and values that its reader sees. */
function formatContent(collection: VectorCollection, live: LiveScene): string {
  const { id, version, cursor, activity, rule, source } = collection;
  const masks = source.fields.flatMap(({ name, mask }) => (mask ? [[name, mask]] : []));
  const names = rule ? source.fields.map(({ name }) => name) : [];
  return stringifyExactly([id, version, cursor, activity, rule?.version, rule?.rows, names, masks, live]);
}

/** Other programs can change a database at any time. 0: until the data changes. */
const findLifetime = ({ source }: VectorCollection): number =>
  source.database === undefined && source.remote === undefined ? 0 : LIMITS.databaseTileMs;

/** Several requests can wait for the same plan, so a client that disconnects does not end it. */
function withoutSignal(x: TaskContext): TaskContext {
  return {
    span: x.span,
    ...(x.caller ? { caller: x.caller } : {}),
    ...(x.correlationId === undefined ? {} : { correlationId: x.correlationId }),
    timing: (stage, ms) => x.timing(stage, ms),
    stage: (stage, ms, place) => x.stage?.(stage, ms, place),
  };
}

function summarise(cells: Float64Array, level: number, counts: Omit<SceneCellsResult, 'cells'>): ScenePlan {
  const roots = buildSceneTree(cells, level, Math.max(TILE_FEATURES, Math.ceil(counts.features / MAX_TILES)));
  const countLeaves = ({ children }: SceneNode): number =>
    children.length === 0 ? 1 : children.reduce((sum, child) => sum + countLeaves(child), 0);
  return { roots, ...counts, tiles: roots.reduce((sum, root) => sum + countLeaves(root), 0) };
}

function buildQuery(collection: VectorCollection, { height, base }: LiveScene): SceneFeatures {
  const { source, filter } = readable(collection);
  return { source, filter, shape: 'extrusion', height, ...(base ? { base } : {}) };
}

/** Longitudes and latitudes of all features of a plan: west, south, east, north. Undefined for an empty scene. */
export function findSceneBox({ roots }: ScenePlan): readonly [number, number, number, number] | undefined {
  if (roots.length === 0) return undefined;
  const sides = (side: 0 | 1 | 2 | 3) => roots.map(({ box }) => box[side]);
  return [Math.min(...sides(0)), Math.min(...sides(1)), Math.max(...sides(2)), Math.max(...sides(3))];
}

/** Geometric error of the tileset: its size on the screen decides whether the scene is drawn at all. */
export const findSceneError = ({ roots }: ScenePlan): number => Math.max(0, ...roots.map(computeError)) * 2;

/** A tileset of 3D Tiles 1.1 (OGC 22-025r4) with explicit tiles. URIs are relative to the tileset. */
export function writeTileset(plan: ScenePlan, name: string): object {
  const [first, ...others] = plan.roots.map((root) => writeTile(root));
  const error = findSceneError(plan);
  const root =
    first && others.length === 0
      ? first
      : {
          boundingVolume: { region: toRegion(findSceneBox(plan) ?? [0, 0, 0, 0], plan.roots) },
          geometricError: error,
          refine: 'ADD',
          ...(first ? { children: [first, ...others] } : {}),
        };
  return {
    asset: { version: '1.1', extras: { name } },
    geometricError: error,
    root: { ...root, refine: 'ADD' },
  };
}

function writeTile(node: SceneNode): object {
  const { level, column, row, children } = node;
  return {
    boundingVolume: { region: toRegion(node.box, [node]) },
    geometricError: children.length === 0 ? 0 : computeError(node),
    ...(children.length === 0
      ? { content: { uri: `tiles/${level}/${column}/${row}.glb` } }
      : { children: children.map(writeTile) }),
  };
}

/** Region in radians: west, south, east, north, lowest and highest height. */
function toRegion(box: readonly number[], nodes: readonly SceneNode[]): number[] {
  const low = Math.min(...nodes.map((node) => node.low));
  const high = Math.max(...nodes.map((node) => node.high));
  return [...box.map((degrees) => degrees * RADIANS), ...(nodes.length > 0 ? [low, high] : [0, 0])];
}

function computeError({ level }: SceneNode): number {
  return (180 / 2 ** level) * METRES_PER_DEGREE * ERROR_PART;
}
