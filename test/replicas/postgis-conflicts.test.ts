import { postgisStore } from '../edits/support.js';
import { conflictSuite } from './conflict-suite.js';

conflictSuite('PostGIS', () => postgisStore());
