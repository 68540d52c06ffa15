import { group, report } from '../kit.js';

/** What this edition can do. */
export const features = group({ tag: 'Features', scope: 'features', envelope: 'wrapped' }, [
  report('GET /features', 'Get Feature Overview'),
]);
