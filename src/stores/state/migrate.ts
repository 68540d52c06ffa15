import { type Migration, Migrator, sql } from 'kysely';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';
import { MIGRATIONS } from './migrations.js';

/**
 * Creates missing tables of the state. If a newer release has created more, this release shares the state while the
 * parts that it needs still exist, which the state records. Rejects otherwise.
 */
export async function migrate(db: StateDb, steps: Record<string, Migration> = MIGRATIONS): Promise<void> {
  if ((await laterSteps(db, steps)).length > 0) return requireKnown(await neededStep(db), steps);
  const migrator = new Migrator({ db, provider: { getMigrations: async () => steps } });
  const { error } = await migrator.migrateToLatest();
  // A newer release was quicker.
  if (error && (await laterSteps(db, steps)).length > 0) return requireKnown(await neededStep(db), steps);
  if (error) throw error;
}

/** Differences between the steps that the state has and those of this release. */
export interface MigrationSteps {
  /** Steps of this release that were not run. */
  readonly pending: readonly string[];
  /** Steps of a newer release. */
  readonly later: readonly string[];
}

export async function readSteps(
  db: StateDb,
  steps: Record<string, Migration> = MIGRATIONS,
): Promise<MigrationSteps> {
  const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration`.execute(db);
  const run = new Set(rows.map(({ name }) => name));
  return { pending: Object.keys(steps).filter((name) => !run.has(name)), later: await laterSteps(db, steps) };
}

/** Steps of a newer release. */
export async function laterSteps(
  db: StateDb,
  steps: Record<string, Migration> = MIGRATIONS,
): Promise<string[]> {
  if (!(await getVocabulary(db).hasTable(db, 'kysely_migration'))) return [];
  const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration ORDER BY name`.execute(db);
  return rows.map(({ name }) => name).filter((name) => !(name in steps));
}

/** The last step that took away or changed what releases before it use. */
async function neededStep(db: StateDb): Promise<string | undefined> {
  if (!(await getVocabulary(db).hasTable(db, 'compatibility'))) return undefined;
  const { rows } = await sql<{ needs: string }>`SELECT needs FROM compatibility`.execute(db);
  return rows[0]?.needs;
}

function requireKnown(step: string | undefined, steps: Record<string, Migration>): void {
  if (step !== undefined && step in steps) return;
  throw new Error(
    `The state was created by a newer version (step ${step}), with which this version cannot run. Upgrade this server.`,
  );
}
