import { action, group, report, resource } from '../kit.js';

/** Users and their roles. */
export const users = group({ tag: 'Users', scope: 'users', envelope: 'wrapped' }, [
  ...resource('/users/{id}', { list: 'List Users', get: 'Get User', remove: 'Deprovision User' }),
  action('PUT /users/{id}/roles', 'Update User Roles'),
  report('GET /users/{id}/effective-permissions', 'Get User Effective Permissions'),
]);
