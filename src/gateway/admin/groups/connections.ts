import { action, group, report, resource } from '../kit.js';

/** Databases that layers are published from. */
export const connections = group({ tag: 'Connections', scope: 'connections', envelope: 'wrapped' }, [
  ...resource('/connections/{id}', {
    list: 'List Secure Connections',
    create: 'Create Secure Connection',
    get: 'Get Secure Connection',
    update: 'Update Secure Connection',
    remove: 'Delete Secure Connection',
  }),
  report('GET /connections/{id}/tables', 'Get Connection Tables'),
  action('POST /connections/test', 'Test Draft Connection'),
  action('POST /connections/{id}/test', 'Test Saved Connection'),
  report('POST /connections/encryption/validate', 'Validate Encryption Service'),
  action('POST /connections/encryption/rotate-key', 'Rotate Encryption Key'),
]);
