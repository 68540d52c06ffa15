import { action, group, resource, setting } from '../kit.js';

/** OAuth clients and the scopes they may ask for. */
export const oauth = group({ tag: 'OAuth clients and scopes', scope: 'oauth', envelope: 'wrapped' }, [
  ...resource('/oauth-clients/{id}', {
    list: 'List OAuth Clients',
    create: 'Register OAuth Client',
    get: 'Get OAuth Client',
    remove: 'Delete OAuth Client',
  }),
  ...setting('/oauth-scopes', { get: 'List OAuth Scopes', set: 'Define OAuth Scope' }),
  action('DELETE /oauth-scopes/{scope}', 'Delete OAuth Scope'),
]);
