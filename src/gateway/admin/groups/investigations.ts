import { action, group, resource } from '../kit.js';

/** Collected evidence about an incident. */
export const investigations = group({ tag: 'Investigations', scope: 'investigations', envelope: 'raw' }, [
  ...resource('/investigations/{investigationId}', {
    list: 'List Investigations',
    create: 'Create Investigation',
    get: 'Get Investigation',
  }),
  action('PATCH /investigations/{investigationId}', 'Update Investigation'),
  action('POST /investigations/{investigationId}/links', 'Link Resource To Investigation'),
  action('DELETE /investigations/{investigationId}/links/{linkId}', 'Remove Investigation Link'),
  action('POST /investigations/{investigationId}/pins', 'Pin Event To Investigation'),
  action('DELETE /investigations/{investigationId}/pins/{pinId}', 'Remove Investigation Pin'),
]);
