import { group, resource, setting } from '../kit.js';

/** Roles and their permissions. */
export const roles = group({ tag: 'Roles', scope: 'roles', envelope: 'wrapped' }, [
  ...resource('/roles/{id}', {
    list: 'List Roles',
    create: 'Create Role',
    get: 'Get Role',
    update: 'Update Role',
    remove: 'Delete Role',
  }),
  ...setting('/roles/{id}/permissions', { get: 'Get Role Permissions', set: 'Set Role Permissions' }),
]);
