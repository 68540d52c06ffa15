import { isFullRun } from '../../support/soak.js';
import { postgisStore } from '../support.js';
import { mergeSuite } from './suite.js';

const SLOW = `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN IF NEW.name = 'slow' THEN PERFORM pg_advisory_xact_lock_shared(1), pg_sleep(0.1); END IF; RETURN NEW; END $$;
  CREATE TRIGGER slow BEFORE INSERT ON parcels FOR EACH ROW EXECUTE FUNCTION slow()`;

mergeSuite(
  'PostGIS',
  async () => {
    const store = await postgisStore();
    await store.query(SLOW);
    const execute = async (sql: string) => void (await store.query(sql));
    const hold = async () => {
      await execute('SELECT pg_advisory_lock(1)');
      return () => execute('SELECT pg_advisory_unlock(1)');
    };
    return { ...store, execute, hold };
  },
  isFullRun(import.meta.url),
);
