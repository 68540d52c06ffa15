import { group, resource } from '../kit.js';

/** Attributes hidden from roles. */
export const fieldMasks = group({ tag: 'Field-mask policies', scope: 'field-masks', envelope: 'wrapped' }, [
  ...resource('/field-mask-policies/{id}', {
    list: 'List Field-Mask Policies',
    create: 'Create Field-Mask Policy',
    get: 'Get Field-Mask Policy',
    remove: 'Delete Field-Mask Policy',
  }),
]);
