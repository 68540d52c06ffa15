import { postgisStore } from '../edits/support.js';
import { conflictSuite } from './conflict-suite.js';

/** The state is in PostgreSQL, too. */
conflictSuite('PostGIS', async () => {
  const store = await postgisStore();
  return { ...store, env: { ...store.env, SVC_STATE__URL: store.sources[0]! } };
});
