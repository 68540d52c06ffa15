import Type from 'typebox';
import { badParameter } from '../../core/errors/errors.js';
import type { Exchange, Param } from '../../core/http/operation.js';
import type { Editor } from '../../services/edits/target.js';

/**
 * Header of edits. True if the client accepts that an edit replaces a geometry which it does not see in its stored
 * form.
 */
export const geometryLoss = {
  name: 'Geometry-Loss',
  in: 'header',
  description:
    'accept: the edit can replace a geometry that clients receive in simplified form, such as a geometry with arcs. By default, such an edit returns 409.',
  schema: Type.Literal('accept'),
  parse(raw: string | undefined): boolean {
    if (raw === undefined) return false;
    if (raw.trim().toLowerCase() === 'accept') return true;
    throw badParameter('Geometry-Loss', `must be accept`);
  },
} satisfies Param;

/** The editor of a request. */
export function createEditor(x: Exchange): Editor {
  return {
    principal: x.principal,
    protocol: x.operation.protocol,
    requestId: x.correlationId,
    acceptsLoss: geometryLoss.parse(x.header('geometry-loss')),
  };
}
