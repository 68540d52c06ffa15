import { postgisStore } from '../edits/support.js';
import { replicaSuite } from './suite.js';

replicaSuite('PostGIS', () => postgisStore());
