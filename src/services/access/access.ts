import type { Collection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import type { Mask } from '../../core/sources/vector-source.js';

export type AccessAction = 'read' | 'write';

/** What a principal may do with a collection. A refusal has no parts; a permission may be narrowed by both. */
export interface Access {
  readonly allowed: boolean;
  /** Only rows that pass exist for this principal. A checked filter, as stores take it. */
  readonly filter?: Expression;
  /** Names of the attributes that exist as they are stored (read) or that may be changed (write); all when absent. */
  readonly fields?: readonly string[];
  /** What is read in place of other attributes, by their names. */
  readonly masks?: ReadonlyMap<string, Mask>;
}

/** Whether no row and no attribute is kept from the principal. */
export const isUnrestricted = ({ allowed, filter, fields }: Access): boolean =>
  allowed && filter === undefined && fields === undefined;

/** The refusal of what needs the right to all rows and attributes of a layer. */
export const wholeRightError = (id: string, action: AccessAction) =>
  new ApiError(
    'forbidden',
    `This operation requires the right to ${action} all rows and attributes of the layer '${id}'.`,
  );

/** The one access decision: every read and every write of a collection asks it. Synchronous: it is on every way. */
export type AccessPolicy = (principal: Principal, collection: Collection, action: AccessAction) => Access;

/** The names in both lists; an absent list holds every name. */
export function bothFields(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.filter((name) => b.includes(name));
}
