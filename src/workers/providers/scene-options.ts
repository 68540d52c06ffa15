import { shownField } from '../../core/access/field-masks.js';
import { LIMITS } from '../../core/kit/limits.js';
import { SCENE_LIMITS } from '../../core/scenes/limits.js';
import type { HeightRule, SceneTileTask } from '../../core/scenes/scene-tiles.js';
import { type Field, fieldsNamed } from '../../core/sources/vector-source.js';
import type { SceneHeightOptions, SceneTileOptions } from '../../native/scenes.js';

/** Fields of the rows of a scene tile: its attributes, followed by the other fields that have heights. */
export function listSceneFields({ source, fields, base, height }: SceneTileTask): Field[] {
  const shown = fieldsNamed(source, fields);
  const heights = [base?.field, height?.field].filter((name) => name !== undefined);
  const others = fieldsNamed(source, [...new Set(heights)]).filter(({ name }) => !fields.includes(name));
  return [...shown, ...others];
}

/** Options of the encoder. `fields` are the fields of each row. */
export function buildSceneOptions(task: SceneTileTask, fields: readonly Field[]): SceneTileOptions {
  const { source, window, shape, base, height, metresPerZ, offsets, floor, color } = task;
  const [west, south, east, north] = window;
  const readHeight = ({ field, ...rule }: HeightRule): SceneHeightOptions => {
    const column = fields.findIndex(({ name }) => name === field);
    return column < 0 ? rule : { ...rule, column };
  };
  return {
    // Only booleans have a stored value that does not show its type.
    fields: fields.map(shownField).map(({ name, type }) => (type === 'boolean' ? { name, type } : name)),
    shown: fieldsNamed(source, task.fields).length,
    from: source.crs,
    window,
    origin: task.origin ?? [(west + east) / 2, (south + north) / 2],
    faces: shape === 'faces',
    ...(base ? { base: readHeight(base) } : {}),
    ...(height ? { height: readHeight(height) } : {}),
    ...(metresPerZ === undefined ? {} : { metresPerZ }),
    ...(offsets ? { offsets } : {}),
    ...(floor === undefined ? {} : { floor }),
    ...(color ? { color } : {}),
    maxFeatures: SCENE_LIMITS.tileFeatures,
    maxBytes: SCENE_LIMITS.tileBytes,
    deadline: Date.now() + LIMITS.requestDeadlineMs,
  };
}
