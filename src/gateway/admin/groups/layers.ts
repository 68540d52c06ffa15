import { action, group, report } from '../kit.js';

/** Publishing of tables as layers. */
export const layers = group({ tag: 'Layers', scope: 'layers', envelope: 'wrapped' }, [
  report('GET /connections/{id}/layers', 'List Published Layers'),
  action('POST /connections/{id}/layers', 'Publish Layer'),
  action('PUT /connections/{id}/layers/{layerId}/enabled', 'Set Layer Enabled'),
  action('PUT /connections/{id}/layers/enabled', 'Set Service Layers Enabled'),
  report('POST /connections/{id}/tables/validate', 'Validate Table For Layer Publishing'),
  action('POST /connections/{id}/layers/extents/refresh', 'Refresh Layer Extents'),
  action('POST /connections/{id}/layers/{layerId}/features/refresh', 'Refresh Layer Feature Snapshot'),
]);
