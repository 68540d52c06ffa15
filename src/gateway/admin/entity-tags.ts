import { createHash } from 'node:crypto';

const tags = new WeakMap<object, string>();

/** Gives a view the entity tag of what is stored; other views have the hash of their members. */
export function tagged<T extends object>(view: T, tag: string): T {
  tags.set(view, tag);
  return view;
}

/** The entity tag that a view was given. */
export function givenTag(view: unknown): string | undefined {
  return typeof view === 'object' && view !== null ? tags.get(view) : undefined;
}

/** The entity tag of a view: the one that it was given, or a hash of its members. Undefined without a view. */
export function entityTag(view: unknown): string | undefined {
  if (view === undefined) return undefined;
  return givenTag(view) ?? hashTag(JSON.stringify(view));
}

/** In hexadecimal: a tag must not end as the name of a content coding. */
export function hashTag(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
