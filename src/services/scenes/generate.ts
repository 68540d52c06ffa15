import { hasFeatures, hasPolygons } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/catalog/collection.js';
import { findNumbered, requirePlace } from '../../core/catalog/find.js';
import { badMember } from '../../core/errors/errors.js';
import type { HeightRule } from '../../core/scenes/scene-tiles.js';
import type { LiveScene } from '../../core/scenes/scenes.js';
import type { TaskContext } from '../kit/run-task.js';
import { chooseBase, chooseHeight, HEIGHT_NAMES } from './height-fields.js';
import { findSceneBox, findSceneError, type LiveScenes, type ScenePlan } from './live-scenes.js';
import type { SceneRegistry, StoredScene } from './registry.js';

export interface SceneWish {
  readonly layerId: number;
  readonly sceneId?: string;
  readonly displayName?: string;
  readonly description: string | null;
  readonly includeAttributes?: readonly string[];
  readonly maxFeatureCount?: number;
  readonly cacheMaxAgeSeconds?: number;
  readonly editionGate: string | null;
  readonly heightField?: string;
  readonly baseField?: string;
  readonly metresPerUnit?: number;
  readonly defaultHeight?: number;
  /** The collections that the caller can read. */
  readonly catalog: CatalogSnapshot;
  readonly by: string;
}

interface GeneratedScene {
  readonly scene: StoredScene;
  readonly plan: ScenePlan;
  /** West, south, east and north in degrees. */
  readonly box: readonly number[];
  readonly error: number;
  readonly warnings: string[];
}

/**
 * Creates a live scene of a layer. Throws `not-found` without the layer, `invalid-body` if it has no polygons or no
 * heights, and `conflict` if the id is taken.
 */
export async function generateScene(
  x: TaskContext,
  { scenes, liveScenes }: { scenes: SceneRegistry; liveScenes: LiveScenes },
  wish: SceneWish,
): Promise<GeneratedScene> {
  const layer = findNumbered(wish.catalog, wish.layerId);
  if (!hasFeatures(layer) || !hasPolygons(layer))
    throw badMember('layerId', `the layer '${layer.id}' has no polygons, from which a scene is generated`);
  requirePlace(layer);
  const live = chooseLive(layer, wish);
  const plan = await liveScenes.plan(x, layer, live);
  const { features } = plan;
  if (wish.maxFeatureCount !== undefined && features > wish.maxFeatureCount)
    throw badMember(
      'maxFeatureCount',
      `the layer has ${features} features with a height, more than ${wish.maxFeatureCount}`,
    );
  const box = findSceneBox(plan);
  const settings = {
    name: wish.displayName ?? layer.title,
    description: wish.description,
    datasetType: 'building',
    assetRoot: '',
    tilesetFileName: 'tileset.json',
    extent: box ? { xMin: box[0], yMin: box[1], xMax: box[2], yMax: box[3] } : null,
    crs: 'EPSG:4979',
    cachePolicy: { maxAgeSeconds: wish.cacheMaxAgeSeconds ?? 0, noStore: false },
    isPublic: true,
    requiresAuth: false,
    allowedRoles: null,
    editionGate: wish.editionGate,
  } as const;
  const scene = await scenes.createLive(wish.sceneId ?? toSceneId(layer.id), settings, live, wish.by);
  return { scene, plan, box: box ?? [], error: findSceneError(plan), warnings: listWarnings(plan, live) };
}

function chooseLive({ id, layerId, source }: VectorCollection, wish: SceneWish): LiveScene {
  const { fields } = source;
  const require = (member: string, name: string) => {
    if (!fields.some((field) => field.name === name))
      throw badMember(
        member,
        `the layer '${id}' has no field '${name}'. It has ${fields.map((field) => field.name).join(', ')}`,
      );
  };
  for (const name of wish.includeAttributes ?? []) require('includeAttributes', name);
  if (wish.heightField !== undefined) require('heightField', wish.heightField);
  if (wish.baseField !== undefined) require('baseField', wish.baseField);
  const scale: HeightRule = wish.metresPerUnit === undefined ? {} : { metres: wish.metresPerUnit };
  const byName = chooseHeight(fields);
  const chosen = wish.heightField === undefined ? byName : { field: wish.heightField };
  if (!chosen && wish.defaultHeight === undefined)
    throw badMember(
      'heightField',
      `is required, because no field of the layer '${id}' has a known name (${HEIGHT_NAMES.slice(0, 6).join(', ')} and others). Name the field with the heights, or set defaultHeight`,
    );
  const base = wish.baseField === undefined ? chooseBase(fields) : { field: wish.baseField };
  return {
    layerId,
    fields: wish.includeAttributes ? [...wish.includeAttributes] : null,
    height: {
      ...chosen,
      ...scale,
      ...(wish.defaultHeight === undefined ? {} : { otherwise: wish.defaultHeight }),
    },
    base: base ? { ...base, ...scale } : null,
  };
}

function listWarnings(
  { withoutHeight, withoutArea, unreadable }: ScenePlan,
  { height, base }: LiveScene,
): string[] {
  const count = (number: number | undefined, reason: string) =>
    number ? [`${number} features ${reason}.`] : [];
  return [
    ...(height.field ? [] : ['No field has heights: all features have the default height.']),
    ...(height.field && height.metres ? [`'${height.field}' counts ${height.metres} m per unit.`] : []),
    base?.field
      ? `The base of features is '${base.field}', as metres above the ellipsoid.`
      : 'The base of features is their smallest Z, or the ellipsoid if they have none.',
    ...count(withoutHeight, 'have no height above 0 and are omitted'),
    ...count(withoutArea, 'have no polygon with an area and are omitted'),
    ...count(unreadable, 'have a geometry that cannot be read and are omitted'),
  ];
}

/** Id of a scene from the id of its layer. */
function toSceneId(id: string): string {
  const words = id
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  return words.join('-').slice(0, 100) || 'scene';
}
