import Type from 'typebox';

/** Who owns an object of the state: others do not change it. */
export const OWNERS = ['api', 'configuration', 'manifest'] as const;
export type Owner = (typeof OWNERS)[number];

/** Of objects whose listing does not ask what manifests made. */
export const OwnerSchema = Type.Enum(['api', 'configuration'], {
  description: 'Source of the object: the management API or the configuration.',
});
