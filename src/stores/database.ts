import type { Kysely } from 'kysely';
import type { StateTables } from './schema.js';

export type StateDb = Kysely<StateTables>;
