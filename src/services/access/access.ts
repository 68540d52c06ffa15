import type { Collection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import type { Mask } from '../../core/sources/vector-source.js';

export type AccessAction = 'read' | 'write';

/**
 * Access of a principal to a collection. A refusal has no further members. Filter and fields restrict a permission.
 */
export interface Access {
  readonly allowed: boolean;
  /** Only rows that pass exist for this principal. A checked filter, as stores take it. */
  readonly filter?: Expression;
  /** Names of the attributes that are readable unmasked (read) or can be changed (write). Default: all. */
  readonly fields?: readonly string[];
  /** Masks of further readable attributes, by attribute name. */
  readonly masks?: ReadonlyMap<string, Mask>;
}

/** Whether no row and no attribute is kept from the principal. */
export const isUnrestricted = ({ allowed, filter, fields }: Access): boolean =>
  allowed && filter === undefined && fields === undefined;

/** The refusal of an operation that requires the right to all rows and attributes of a layer. */
export const wholeRightError = (id: string, action: AccessAction) =>
  new ApiError(
    'forbidden',
    `This operation requires the right to ${action} all rows and attributes of the layer '${id}'.`,
  );

/**
 * The only access decision: it applies to each read and write of a collection. It is synchronous because every
 * request needs it.
 */
export type AccessPolicy = (principal: Principal, collection: Collection, action: AccessAction) => Access;

/** The names in both lists. An undefined list contains every name. */
export function bothFields(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.filter((name) => b.includes(name));
}
