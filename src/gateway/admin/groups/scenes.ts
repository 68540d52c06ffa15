import { action, group, report, resource } from '../kit.js';

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
