import { action, group, report, resource } from '../../admin/kit.js';

/** Groups of the contract without any implementation. A group gets its own file when it is built. */

/** Deployment operations and their preflight. */
export const deploy = group({ tag: 'Deploy', scope: 'deploy', envelope: 'raw' }, [
  report('GET /deploy/preflight', 'Get Deploy Preflight'),
  report('POST /deploy/plan', 'Plan Deploy Operation'),
  ...resource('/deploy/operations/{operationId}', {
    list: 'List Deploy Operations',
    create: 'Create Deploy Operation',
    get: 'Get Deploy Operation',
  }),
  action('POST /deploy/operations/{operationId}/submit', 'Submit Deploy Operation'),
  action('POST /deploy/operations/{operationId}/rollback', 'Rollback Deploy Operation'),
  action('POST /deploy/operations/{operationId}/promote', 'Promote Deploy Operation'),
]);

/** Review of data collected in the field. */
export const fieldWorkflows = group({ tag: 'Field workflows', scope: 'field-workflows', envelope: 'raw' }, [
  report('GET /field-workflows/submissions', 'List Field Submissions'),
  report('GET /field-workflows/submissions/{submissionId}', 'Get Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/assignment', 'Assign Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/decision', 'Decide Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/comments', 'Comment On Field Submission'),
  report('GET /field-workflows/exports', 'List Field Exports'),
  action('POST /field-workflows/exports', 'Create Field Export'),
]);

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

/** Convergence of the parts of a release. */
export const platformRelease = group(
  { tag: 'Platform release', scope: 'platform-release', envelope: 'raw' },
  [action('POST /platform-release/converge', 'Converge Platform Release')],
);

/** 3D scene datasets. */
export const scenes = group({ tag: 'Scenes', scope: 'scenes', envelope: 'raw' }, [
  ...resource('/scenes/{id}', {
    list: 'List Scene Datasets',
    create: 'Register Scene Dataset',
    get: 'Get Scene Dataset',
    update: 'Update Scene Dataset',
    remove: 'Deactivate Scene Dataset',
  }),
  action('POST /scenes/generate', 'Generate Scene From Feature Layer'),
  action('POST /scenes/ingest/citygml', 'Ingest CityGML Scene'),
  action('POST /scenes/ingest/pointcloud', 'Ingest Point Cloud Scene'),
  report('GET /scenes/{id}/resolve', 'Resolve Scene Dataset'),
]);
