import { group, report } from '../kit.js';

/** Use of geoprocessing tools. */
export const geoprocessing = group({ tag: 'Geoprocessing', scope: 'geoprocessing', envelope: 'wrapped' }, [
  report('GET /geoprocessing/tools/usage-ranking', 'Get geoprocessing tool usage ranking'),
]);
