import { action, group, report, resource } from '../kit.js';

/** Keys that web pages embed, and their use. */
export const embedKeys = group({ tag: 'Embed keys', scope: 'embed-keys', envelope: 'wrapped' }, [
  ...resource('/embed/keys/{id}', {
    list: 'List Embed Keys',
    create: 'Create Embed Key',
    get: 'Get Embed Key',
  }),
  action('POST /embed/keys/{id}/rotate', 'Rotate Embed Key'),
  action('POST /embed/keys/{id}/revoke', 'Revoke Embed Key'),
  report('GET /embed/usage', 'Query Embed Usage'),
]);
