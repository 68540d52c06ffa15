import { action, group, report, resource } from '../../admin/kit.js';

/** Groups of the contract without any implementation. A group gets its own file when it is built. */

/** Networks for routing and their topology generations. */
export const networkDatasets = group(
  { tag: 'Network datasets', scope: 'network-datasets', envelope: 'raw' },
  [
    ...resource('/network-datasets/{id}', {
      list: 'List Network Datasets',
      create: 'Register Network Dataset',
      get: 'Get Network Dataset',
      update: 'Update Network Dataset',
      remove: 'Delete Network Dataset',
    }),
    report('GET /network-datasets/{id}/generations', 'List Topology Generations'),
    action('POST /network-datasets/{id}/generations', 'Allocate Draft Topology Generation'),
    action('POST /network-datasets/{id}/generations/{generation}/edits', 'Apply Topology Edit Batch'),
    action('POST /network-datasets/{id}/generations/{generation}/rebuild', 'Submit Topology Rebuild'),
    report(
      'GET /network-datasets/{id}/generations/{generation}/rebuild/{attempt}',
      'Get Topology Rebuild Attempt',
    ),
    action('POST /network-datasets/{id}/promote', 'Promote Topology Generation'),
    action('POST /network-datasets/{id}/rollback', 'Roll Back Topology Generation'),
    report('GET /network-datasets/{id}/promotions', 'List Topology Promotions'),
  ],
);
