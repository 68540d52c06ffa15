import Type from 'typebox';

/** Members that rules have in common, as the wire has them. */

export const NAME_SCHEMA = Type.String({ minLength: 1, maxLength: 200 });
export const DESCRIPTION = Type.Optional(Type.Union([Type.String({ maxLength: 2000 }), Type.Null()]));

/** Scope of a rule; each member may be `*`. */
export const RULE_SCOPE = {
  service: { ...NAME_SCHEMA, description: 'Name of the service, or *.' },
  layer: { ...NAME_SCHEMA, description: 'Id or number of a collection, or *.' },
  role: {
    ...NAME_SCHEMA,
    description: 'Name of a role, anonymous for callers without credentials, or * for all callers.',
  },
};

export const GrantSchema = Type.Object({
  service: NAME_SCHEMA,
  layer: NAME_SCHEMA,
  operation: {
    ...NAME_SCHEMA,
    description: 'read, write, a permission label of the management API such as admin:jobs:read, or *.',
  },
});
