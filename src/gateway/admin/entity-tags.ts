const tags = new WeakMap<object, string>();

/** A view with the entity tag of what it shows, which is none of its members. */
export function tagged<T extends object>(view: T, tag: string): T {
  tags.set(view, tag);
  return view;
}

/** Entity tag of what a view shows. */
export const etag = (view: object) => tags.get(view);
