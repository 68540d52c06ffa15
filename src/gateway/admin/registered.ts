import Type from 'typebox';
import { badParameter } from '../../core/errors.js';
import type { Param } from '../../core/operation.js';

/** What the groups of registered rasters share. */

export const layerIdOf: Param<number> = {
  name: 'layerId',
  in: 'query',
  description: 'Layer whose registrations are listed.',
  required: true,
  schema: Type.Integer({ minimum: 1 }),
  parse(raw) {
    if (raw === undefined) throw badParameter('layerId', 'is required');
    if (!/^\d{1,10}$/.test(raw)) throw badParameter('layerId', 'must be a whole number');
    return Number(raw);
  },
};

/** An id of 64 bits; those that no number of JavaScript holds exactly are of nothing. */
export function longId(name: string, what: string): Param<number> {
  return {
    name,
    in: 'path',
    description: `Id of the ${what}.`,
    required: true,
    schema: Type.Integer({ minimum: 1, format: 'int64' }),
    parse(raw) {
      if (raw === undefined || !/^\d{1,19}$/.test(raw)) throw badParameter(name, 'must be a whole number');
      return Math.min(Number(raw), Number.MAX_SAFE_INTEGER);
    },
  };
}

/** Members that every registration of an object has. */
export const REGISTRATION = {
  layerId: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
  name: Type.String({ minLength: 1, maxLength: 256 }),
  description: Type.Optional(Type.String({ maxLength: 4000 })),
  bucket: Type.String({ minLength: 1, maxLength: 256 }),
  createLayer: Type.Optional(
    Type.Boolean({ default: false, description: 'Makes the layer when there is none of that id.' }),
  ),
};

export const nullable = <T extends ReturnType<typeof Type.Integer> | ReturnType<typeof Type.String>>(
  type: T,
) => Type.Union([type, Type.Null()]);
