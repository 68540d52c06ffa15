import { action, group, report, setting } from '../kit.js';

/** Styles of layers. */
export const styles = group({ tag: 'Styles', scope: 'styles', envelope: 'wrapped' }, [
  ...setting('/metadata/layers/{layerId}/style', { get: 'Get Layer Style', set: 'Update Layer Style' }),
  action('POST /metadata/layers/{layerId}/style/import-sld', 'Import SLD Layer Style'),
  report('GET /metadata/layers/{layerId}/style/export-sld', 'Export Layer Style as SLD'),
  report('POST /metadata/layers/{layerId}/suggest-style', 'Suggest Layer Style'),
]);
