import { action, group, resource } from '../kit.js';

/** OpenID Connect providers. */
export const oidc = group({ tag: 'OIDC providers', scope: 'oidc', envelope: 'wrapped' }, [
  ...resource('/oidc/providers/{id}', {
    list: 'List OIDC Providers',
    create: 'Create OIDC Provider',
    get: 'Get OIDC Provider',
    update: 'Update OIDC Provider',
    remove: 'Delete OIDC Provider',
  }),
  action('POST /oidc/providers/{id}/test', 'Test OIDC Provider Connection'),
]);
