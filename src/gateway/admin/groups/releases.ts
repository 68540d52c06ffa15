import { action, group, report, resource } from '../kit.js';

/** Release packages of metadata and their rollout. */
export const releases = group({ tag: 'Metadata and capabilities', scope: 'releases', envelope: 'raw' }, [
  report('GET /metadata/environments/{environment}/inventory', 'Get Metadata Semantic Inventory'),
  report('POST /metadata/environment-bindings/query', 'Query Metadata Environment Bindings'),
  ...resource('/metadata/release-packages/{packageId}', {
    list: 'List Metadata Release Packages',
    create: 'Create Metadata Release Package',
    get: 'Get Metadata Release Package',
  }),
  report(
    'GET /metadata/release-packages/{packageId}/gitops-manifest',
    'Get Metadata Release GitOps Manifest',
  ),
  report('GET /metadata/releases/{packageId}/operation', 'Get Metadata Release Operation'),
  report('POST /metadata/prevalidate', 'Prevalidate Metadata Release Package Compatibility'),
  action('POST /metadata/coordinated-releases/operations', 'Create Coordinated Release Operation'),
  action(
    'POST /metadata/coordinated-releases/operations/{operationId}/approve/{gate}',
    'Approve Coordinated Release Gate',
  ),
  action(
    'POST /metadata/coordinated-releases/operations/{operationId}/rollback',
    'Roll Back Coordinated Release',
  ),
  report('GET /metadata/coordinated-releases/{packageId}/operation', 'Get Coordinated Release Operation'),
  action('POST /metadata/releases/operations', 'Create Metadata Release Operation'),
]);
