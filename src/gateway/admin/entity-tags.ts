import { createHash } from 'node:crypto';

const states = new WeakMap<object, string>();

/**
 * Gives a view the tag of the stored state that it shows. A view without one shows nothing but stored members, so the hash of
 * its members is the tag of the state.
 */
export function tagged<T extends object>(view: T, state: string): T {
  states.set(view, state);
  return view;
}

/**
 * The entity tag of a view: the tag of the stored state. If a view shows more than that state, such as the health of
 * a connection, a dot and a hash of the further members follow. Undefined without a view.
 */
export function entityTag(view: unknown): string | undefined {
  if (view === undefined) return undefined;
  const hash = hashTag(JSON.stringify(view, withoutTime));
  const state = isTagged(view) ? states.get(view as object) : undefined;
  return state === undefined ? hash : `${state}.${hash.slice(0, 8)}`;
}

/** Gives a view the state that another one shows. */
export function sameState<T extends object>(view: T, other: object): T {
  const state = states.get(other);
  return state === undefined ? view : tagged(view, state);
}

export function isTagged(view: unknown): boolean {
  return typeof view === 'object' && view !== null && states.has(view);
}

/** The part of an entity tag that names the stored state. */
export function parseTagState(tag: string): string {
  const dot = tag.indexOf('.');
  return dot < 0 ? tag : tag.slice(0, dot);
}

/** In hexadecimal: a tag must not end as the name of a content coding. */
export function hashTag(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** The time when a list was generated is not part of its content. */
const withoutTime = (name: string, value: unknown) => (name === 'generatedAt' ? undefined : value);
