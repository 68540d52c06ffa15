import { shownField } from '../../core/access/field-masks.js';
import type { Box } from '../../core/geometry/box.js';
import { LIMITS } from '../../core/kit/limits.js';
import { SCENE_LIMITS } from '../../core/scenes/limits.js';
import type { HeightRule, SceneCellsTask, SceneTileTask } from '../../core/scenes/scene-tiles.js';
import { type Field, fieldsNamed } from '../../core/sources/vector-source.js';
import type { SceneHeightOptions, SceneTileOptions } from '../../native/scenes.js';

/** Task of a store: one tile, or the cells of all features. */
export type SceneEncoding = SceneTileTask | SceneCellsTask;

/** The box of the features in degrees. Default: all features. */
export const findSceneWindow = (task: SceneEncoding): Box | undefined =>
  'window' in task ? task.window : undefined;

const listShown = (task: SceneEncoding): readonly string[] => ('fields' in task ? task.fields : []);

/** Fields of the rows of a scene: its attributes, followed by the other fields that have heights. */
export function listSceneFields(task: SceneEncoding): Field[] {
  const { source, base, height } = task;
  const names = listShown(task);
  const heights = [base?.field, height?.field].filter((name) => name !== undefined);
  const others = fieldsNamed(source, [...new Set(heights)]).filter(({ name }) => !names.includes(name));
  return [...fieldsNamed(source, names), ...others];
}

/** Options of the encoder. `fields` are the fields of each row. */
export function buildSceneOptions(task: SceneEncoding, fields: readonly Field[]): SceneTileOptions {
  const { source, shape, base, height, metresPerZ } = task;
  const readHeight = ({ field, ...rule }: HeightRule): SceneHeightOptions => {
    const column = fields.findIndex(({ name }) => name === field);
    return column < 0 ? rule : { ...rule, column };
  };
  return {
    // Only booleans have a stored value that does not show its type.
    fields: fields.map(shownField).map(({ name, type }) => (type === 'boolean' ? { name, type } : name)),
    shown: fieldsNamed(source, listShown(task)).length,
    from: source.crs,
    ...('window' in task
      ? buildTileOptions(task)
      : { cellLevel: task.level, window: [-1e9, -1e9, 1e9, 1e9], origin: [0, 0] }),
    faces: shape === 'faces',
    ...(base ? { base: readHeight(base) } : {}),
    ...(height ? { height: readHeight(height) } : {}),
    ...(metresPerZ === undefined ? {} : { metresPerZ }),
    maxFeatures: SCENE_LIMITS.tileFeatures,
    maxBytes: SCENE_LIMITS.tileBytes,
    deadline: Date.now() + LIMITS.requestDeadlineMs,
  };
}

function buildTileOptions({ window, origin, offsets, floor, color }: SceneTileTask) {
  const [west, south, east, north] = window;
  return {
    window,
    origin: origin ?? [(west + east) / 2, (south + north) / 2],
    ...(offsets ? { offsets } : {}),
    ...(floor === undefined ? {} : { floor }),
    ...(color ? { color } : {}),
  };
}
