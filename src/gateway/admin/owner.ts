import Type from 'typebox';

/** Who owns an object of the state: others do not change it. */
export const OWNERS = ['api', 'configuration', 'manifest'] as const;
export type Owner = (typeof OWNERS)[number];

/** Of objects whose listing does not ask what manifests made. */
export const OwnerSchema = Type.Enum(['api', 'configuration'], {
  description: 'Where it is changed: over the management API, or in the configuration alone.',
});
