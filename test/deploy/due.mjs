/** Says `all` where the image, the chart and the Compose file are to be tried for real, as CI does after a change of them. */
import { isChanged } from '../changes.mjs';

const PLACES = ['deploy', 'test/deploy', '.dockerignore', 'package-lock.json', 'binding.gyp'];

console.log(PLACES.some(isChanged) ? 'all' : '');
