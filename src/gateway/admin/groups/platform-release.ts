import { action, group } from '../kit.js';

/** Convergence of the parts of a release. */
export const platformRelease = group(
  { tag: 'Platform release', scope: 'platform-release', envelope: 'raw' },
  [action('POST /platform-release/converge', 'Converge Platform Release')],
);
