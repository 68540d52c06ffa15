import { escapePointerSegment } from '../errors/json-pointer.js';
import { LIMITS } from '../kit/limits.js';
import { STYLE_LIMITS } from './limits.js';

/** Problem of a style; `path` is a JSON pointer (RFC 6901). */
export interface StyleProblem {
  readonly path: string;
  readonly detail: string;
}

interface Part {
  readonly value: unknown;
  readonly name: string | number;
  readonly depth: number;
  readonly parent: Part | undefined;
}

/**
 * Reason why a JSON value is too large or too deep for further checks; undefined if it is not. The time is
 * proportional to the limits, not to the value, and the stack is not used.
 */
export function findBoundsProblem(value: unknown): StyleProblem | undefined {
  const open: Part[] = [{ value, name: '', depth: 0, parent: undefined }];
  let nodes = 0;
  let characters = 0;
  for (let part = open.pop(); part; part = open.pop()) {
    if (part.depth > STYLE_LIMITS.styleDepth)
      return {
        path: formatPointer(part),
        detail: `is nested more than ${STYLE_LIMITS.styleDepth} levels deep`,
      };
    if (typeof part.value === 'string') characters += part.value.length;
    if (Array.isArray(part.value)) {
      nodes += part.value.length;
      if (nodes > STYLE_LIMITS.styleNodes) return tooMany(part);
      // In reverse order, so that the first member is checked first.
      for (let i = part.value.length - 1; i >= 0; i--) open.push(child(part, i, part.value[i]));
    } else if (typeof part.value === 'object' && part.value !== null) {
      const members = Object.entries(part.value);
      nodes += members.length;
      if (nodes > STYLE_LIMITS.styleNodes) return tooMany(part);
      for (const [name, value] of members.reverse()) {
        characters += name.length;
        open.push(child(part, name, value));
      }
    }
    if (characters > LIMITS.styleCharacters)
      return {
        path: formatPointer(part),
        detail: `there are more than ${LIMITS.styleCharacters} characters`,
      };
  }
  return undefined;
}

function child(parent: Part, name: string | number, value: unknown): Part {
  return { value, name, depth: parent.depth + 1, parent };
}

function tooMany(part: Part): StyleProblem {
  return { path: formatPointer(part), detail: `there are more than ${STYLE_LIMITS.styleNodes} values` };
}

/** Characters of a name that are shown. */
const MAX_NAME = 60;

function formatPointer(part: Part): string {
  const names: string[] = [];
  for (let at: Part | undefined = part; at?.parent; at = at.parent)
    names.push(escapePointerName(`${at.name}`));
  return names
    .reverse()
    .map((name) => `/${name}`)
    .join('');
}

/** A name as part of a JSON pointer. */
export function escapePointerName(name: string): string {
  return escapePointerSegment(name.slice(0, MAX_NAME));
}
