/** Selection of item members for the output (Fields extension of STAC API 1.0.0). */

export interface FieldsChoice {
  include?: string[];
  exclude?: string[];
}

/** Members that are always written, because they identify an item. */
const IDENTITY = ['type', 'stac_version', 'id', 'collection'];

type Json = Record<string, unknown>;

/**
 * Returns the members in `include` without those in `exclude`. Default of `include`: all members. Names are paths
 * (`properties.eo:cloud_cover`); missing paths are ignored. A member in both lists is written, and so is an included
 * member within an excluded one.
 */
export function selectMembers(item: Json, { include, exclude = [] }: FieldsChoice): Json {
  if (!include && exclude.length === 0) return item;
  const result: Json = include ? {} : structuredClone(item);
  for (const path of [...IDENTITY, ...(include ?? [])]) copy(item, result, path.split('.'));
  const names = [...IDENTITY, ...(include ?? [])];
  for (const path of exclude)
    if (!names.some((one) => one === path || one.startsWith(`${path}.`))) remove(result, path.split('.'));
  return result;
}

/** Members whose names contain dots are also found: the rest of a path can be one name. */
function copy(from: Json, to: Json, [name, ...rest]: string[]): void {
  if (name === undefined) return;
  const whole = [name, ...rest].join('.');
  if (Object.hasOwn(from, whole)) {
    set(to, whole, structuredClone(from[whole]));
    return;
  }
  const inner = Object.hasOwn(from, name) ? from[name] : undefined;
  if (!isObject(inner)) return;
  const target = Object.hasOwn(to, name) && isObject(to[name]) ? to[name] : {};
  copy(inner, target, rest);
  if (Object.keys(target).length > 0) set(to, name, target);
}

function remove(from: Json, [name, ...rest]: string[]): void {
  if (name === undefined) return;
  const whole = [name, ...rest].join('.');
  if (Object.hasOwn(from, whole)) delete from[whole];
  else if (Object.hasOwn(from, name) && isObject(from[name])) remove(from[name], rest);
}

/** Same as in JSON.parse: `__proto__` is an ordinary name. */
function set(to: Json, name: string, value: unknown): void {
  Object.defineProperty(to, name, { value, enumerable: true, writable: true, configurable: true });
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
