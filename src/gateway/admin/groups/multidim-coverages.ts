import { action, group, report, resource } from '../kit.js';

/** Multidimensional coverages in object stores. */
export const multidimCoverages = group(
  { tag: 'Multidimensional coverages', scope: 'multidim-coverages', envelope: 'raw' },
  [
    ...resource('/multidim-coverages/{id}', {
      list: 'List Multidimensional Coverages',
      create: 'Register Multidimensional Coverage',
      get: 'Get Multidimensional Coverage',
      remove: 'Unregister Multidimensional Coverage',
    }),
    report('GET /multidim-coverages/jobs/{jobId}', 'Get Multidimensional Coverage Scan Job'),
    action('POST /multidim-coverages/{id}/refresh', 'Refresh Multidimensional Coverage Metadata'),
  ],
);
