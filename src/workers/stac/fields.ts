/** Which members of an item are written (Fields extension of STAC API 1.0.0). */

export interface FieldsChoice {
  include?: string[];
  exclude?: string[];
}

/** Written whatever is asked for: what tells items apart. */
const IDENTITY = ['type', 'stac_version', 'id', 'collection'];

type Json = Record<string, unknown>;

/**
 * The members of `include`, all when it is absent, without those of `exclude`. Names are paths
 * (`properties.eo:cloud_cover`); one that an item does not have is passed over. A member in both lists is written, and so
 * is an included one within an excluded one.
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

/** Members whose names hold dots are found too: what is left of a path may be one name. */
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

/** As JSON.parse does it: `__proto__` is a name like others. */
function set(to: Json, name: string, value: unknown): void {
  Object.defineProperty(to, name, { value, enumerable: true, writable: true, configurable: true });
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
