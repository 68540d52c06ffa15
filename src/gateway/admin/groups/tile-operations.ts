import Type from 'typebox';
import { action, group, resource } from '../kit.js';

const Evicted = Type.Object({
  Enabled: Type.Boolean(),
  Evicted: Type.Integer(),
  Scanned: Type.Integer(),
  Message: Type.String(),
});

/** Seeding, archiving and eviction of tiles. */
export const tileOperations = group({ tag: 'Tile operations', scope: 'tile-operations', envelope: 'raw' }, [
  ...resource('/tile-operations/jobs/{jobId}', {
    list: 'List Tile Operation Jobs',
    create: 'Start Tile Operation Job',
    get: 'Get Tile Operation Job Status',
  }),
  action('POST /tile-operations/jobs/{jobId}/cancel', 'Cancel Tile Operation Job'),
  action('POST /tile-operations/jobs/{jobId}/retry', 'Retry Tile Operation Job'),
  action('POST /tile-operations/evict', 'Evict Tile Cache', {
    description: 'Drops the tiles that are too old to be served.',
    data: Evicted,
    answer(_x, { cache }) {
      const Enabled = cache.status().enabled;
      const { scanned, evicted } = Enabled ? cache.evict() : { scanned: 0, evicted: 0 };
      const Message = Enabled ? `${evicted} of ${scanned} tiles were dropped.` : 'No tiles are kept.';
      return { Enabled, Evicted: evicted, Scanned: scanned, Message };
    },
  }),
]);
