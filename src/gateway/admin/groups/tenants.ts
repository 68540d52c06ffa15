import { action, group, report, resource } from '../kit.js';

/** Tenants and their use. */
export const tenants = group({ tag: 'Tenants', scope: 'tenants', envelope: 'wrapped' }, [
  ...resource('/tenants/{tenantId}', {
    list: 'List Tenants',
    create: 'Create Tenant',
    get: 'Get Tenant',
    remove: 'Delete Tenant',
  }),
  report('GET /tenants/usage', 'Export Tenant Billing Usage'),
  action('POST /tenants/{tenantId}/suspend', 'Suspend Tenant'),
  action('POST /tenants/{tenantId}/resume', 'Resume Tenant'),
]);
