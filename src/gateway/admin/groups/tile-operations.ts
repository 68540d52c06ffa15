import { action, group, resource } from '../kit.js';

/** Seeding, archiving and eviction of tiles. */
export const tileOperations = group({ tag: 'Tile operations', scope: 'tile-operations', envelope: 'raw' }, [
  ...resource('/tile-operations/jobs/{jobId}', {
    list: 'List Tile Operation Jobs',
    create: 'Start Tile Operation Job',
    get: 'Get Tile Operation Job Status',
  }),
  action('POST /tile-operations/jobs/{jobId}/cancel', 'Cancel Tile Operation Job'),
  action('POST /tile-operations/jobs/{jobId}/retry', 'Retry Tile Operation Job'),
  action('POST /tile-operations/evict', 'Evict Tile Cache'),
]);
