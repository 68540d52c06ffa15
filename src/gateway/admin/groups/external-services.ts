import { action, group } from '../kit.js';

/** Discovery of services elsewhere. */
export const externalServices = group(
  { tag: 'External services', scope: 'external-services', envelope: 'raw' },
  [action('POST /external-services/discover', 'Discover External Service')],
);
