import Type, { type Static } from 'typebox';
import { LIMITS } from '../../../core/kit/limits.js';
import { NAME_SCHEMA } from '../../admin/rule-schemas.js';

/** Schemas that services and their layers share. */

const Roles = Type.Array(NAME_SCHEMA, { maxItems: 100 });
export const AccessPolicyBody = Type.Object({
  allowAnonymous: Type.Boolean(),
  allowAnonymousWrite: Type.Boolean(),
  allowedRoles: Roles,
  allowedWriteRoles: Roles,
});
/** A member that is misspelt must not leave a service open: members with other names are refused. */
export const AccessChange = Type.Partial(AccessPolicyBody, { additionalProperties: false });
export type AccessChange = Static<typeof AccessChange>;

const OptionalName = Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()]));
export const TimeInfoChange = Type.Object({
  startTimeField: OptionalName,
  endTimeField: OptionalName,
  trackIdField: OptionalName,
});
export type TimeInfoChange = Static<typeof TimeInfoChange>;

const FieldName = Type.Union([Type.String(), Type.Null()]);
export const TimeInfoSchema = Type.Union([
  Type.Object({ startTimeField: FieldName, endTimeField: FieldName, trackIdField: FieldName }),
  Type.Null(),
]);

const side = Type.Integer({ minimum: 1, maximum: LIMITS.mapSide });
export const MapServer = Type.Object({
  maxImageWidth: side,
  maxImageHeight: side,
  defaultImageWidth: side,
  defaultImageHeight: side,
  defaultDpi: Type.Integer({ minimum: 12, maximum: 800 }),
  defaultFormat: Type.Enum(['png', 'jpg', 'webp']),
  defaultTransparent: Type.Boolean(),
  maxFeaturesPerLayer: Type.Integer({
    minimum: 0,
    description: '0: maps draw all features of their window.',
  }),
});
