import Type from 'typebox';
import { badMember, badParameter } from '../../core/errors/errors.js';
import type { Param } from '../../core/http/operation.js';
import { findBoundsProblem } from '../../core/styles/bounds.js';

/** Parameters and lookups that the groups about layers share. */

export const layerIdParam: Param<number> = {
  name: 'layerId',
  in: 'path',
  description: 'Numeric identifier of a layer.',
  required: true,
  schema: Type.Integer({ minimum: 0 }),
  parse(raw) {
    if (raw === undefined || !/^\d{1,10}$/.test(raw))
      throw badParameter('layerId', 'must be the number of a layer, an integer of at least 0');
    return Number(raw);
  },
};

/** Throws `invalid-body` for a document of free JSON that is too large or too deep. `member` is where it stands. */
export function requireBounded(document: unknown, member: string): void {
  const problem = findBoundsProblem(document);
  if (!problem) return;
  const name = `${member}${problem.path}` || '/';
  throw badMember(name, problem.detail);
}
