import Type from 'typebox';

/** Owner of an object of the state. Other owners do not change it. */
export const OWNERS = ['api', 'configuration', 'manifest'] as const;
export type Owner = (typeof OWNERS)[number];

/** Owners in listings that do not distinguish objects of manifests. */
export const OwnerSchema = Type.Enum(['api', 'configuration'], {
  description: 'Source of the object: the management API or the configuration.',
});
