import { group, report } from '../kit.js';

/** Review of packages before they run. */
export const packages = group({ tag: 'Packages', scope: 'packages', envelope: 'wrapped' }, [
  report('POST /packages/validate', 'Validate Package'),
  report('POST /packages/preview', 'Preview Package'),
]);
