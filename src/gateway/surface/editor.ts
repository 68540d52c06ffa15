import Type from 'typebox';
import { badParameter } from '../../core/errors/errors.js';
import type { Exchange, Param } from '../../core/http/operation.js';
import type { Editor } from '../../services/edits/target.js';

/** The header of edits. True when the client agrees that an edit replaces a geometry that it does not see as it is stored. */
export const geometryLoss = {
  name: 'Geometry-Loss',
  in: 'header',
  description:
    'accept: the edit may replace a geometry that clients do not see as it is stored, such as one with arcs. Such an edit is refused with 409 otherwise.',
  schema: Type.Literal('accept'),
  parse(raw: string | undefined): boolean {
    if (raw === undefined) return false;
    if (raw.trim().toLowerCase() === 'accept') return true;
    throw badParameter('Geometry-Loss', `must be accept`);
  },
} satisfies Param;

/** Who edits by a request. */
export function createEditor(x: Exchange): Editor {
  return {
    principal: x.principal,
    protocol: x.operation.protocol,
    requestId: x.correlationId,
    acceptsLoss: geometryLoss.parse(x.header('geometry-loss')),
  };
}
