import { postgisStore } from '../../edits/support.js';
import { editSuite } from './edits.js';

editSuite(postgisStore);
