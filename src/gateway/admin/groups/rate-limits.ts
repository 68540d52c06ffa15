import { group, report, resource } from '../kit.js';

/** Rate limit policies and their state. */
export const rateLimits = group({ tag: 'Rate limits', scope: 'rate-limits', envelope: 'wrapped' }, [
  ...resource('/rate-limits/{id}', {
    list: 'List Rate Limit Policies',
    create: 'Create Rate Limit Policy',
    get: 'Get Rate Limit Policy',
    update: 'Update Rate Limit Policy',
    remove: 'Delete Rate Limit Policy',
  }),
  report('GET /rate-limits/status', 'Get Rate Limit Status'),
]);
