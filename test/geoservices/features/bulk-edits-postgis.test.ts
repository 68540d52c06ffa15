import { postgisStore } from '../../edits/support.js';
import { bulkEdits } from './bulk-edits.js';

bulkEdits(postgisStore);
