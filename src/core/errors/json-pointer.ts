/** Segments of JSON pointers (RFC 6901). */

/** A name as a segment of a JSON pointer. */
export function escapePointerSegment(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The names in a JSON pointer that starts with a slash. */
export function splitPointer(pointer: string): string[] {
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
