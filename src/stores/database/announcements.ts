import { type Selectable, sql } from 'kysely';
import type { StateDb } from '../schema/database.js';
import type { AnnouncementTable } from '../schema/schema.js';
import { acquireLock } from '../schema/vocabulary.js';
import { signalAll } from './signals.js';

/** Topics of announcements. */
export type Topic =
  /** Sources or rasters of the catalog changed; the subject has the reason, and the changes where they are known. */
  | 'catalog'
  /** A layer, named by its id, has a new version of its style. */
  | 'style'
  /** Settings of a layer or service changed; the subject names the kind and the id. */
  | 'layer'
  /** A secret is not valid any more. */
  | 'lost-secret'
  /** An operator dropped cached responses. The subject is their scope. */
  | 'cache'
  /** A rule of access, a user or a credential changed; the subject names the kind and the id. */
  | 'access'
  /** A connection or a layer that operators published changed; the subject names the kind and the id. */
  | 'publishing'
  /** Another licence is in force. The subject is its id. */
  | 'licence';

/** A change of the state that every process sharing it must apply. */
export interface Announcement {
  /** Counts the announcements of a state. They become visible in this order. */
  readonly version: number;
  readonly topic: Topic;
  readonly subject: unknown;
}

/** Number of announcements that are kept. A process that missed more reads everything again. */
const KEPT = 1000;

/** Reliable messages between the processes of one state. */
export class AnnouncementStore {
  constructor(
    private readonly db: StateDb,
    private readonly kept: number = KEPT,
  ) {}

  /** Adds an announcement for a change without a row. Resolves with its version once it is durable. */
  add(topic: Topic, subject: unknown): Promise<number> {
    return this.db.transaction().execute((trx) => announce(trx, topic, subject, this.kept));
  }

  /** The version of the newest; 0 before the first. */
  async newest(): Promise<number> {
    const { newest } = await this.db
      .selectFrom('announcements')
      .select(({ fn }) => fn.max('version').as('newest'))
      .executeTakeFirstOrThrow();
    return newest ?? 0;
  }

  /** Kept announcements after a version, oldest first. */
  async after(version: number): Promise<Announcement[]> {
    const rows = await this.db
      .selectFrom('announcements')
      .selectAll()
      .where('version', '>', version)
      .orderBy('version')
      .execute();
    return rows.map(announcement);
  }
}

/**
 * Announces the changes of a transaction, as its last statement. No other transaction announces changes until it
 * ends, so versions become visible in order.
 */
export async function announce(
  trx: StateDb,
  topic: Topic,
  subject: unknown,
  kept: number = KEPT,
): Promise<number> {
  await acquireLock(trx, 'announcements');
  const { version } = await trx
    .insertInto('announcements')
    .values({
      version: sql<number>`(SELECT coalesce(max(version), 0) + 1 FROM announcements)`,
      topic,
      subject_json: JSON.stringify(subject),
      at: Date.now(),
    })
    .returning('version')
    .executeTakeFirstOrThrow();
  await trx
    .deleteFrom('announcements')
    .where('version', '<=', version - kept)
    .execute();
  await signalAll(trx, 'announcements');
  return version;
}

function announcement({ version, topic, subject_json }: Selectable<AnnouncementTable>): Announcement {
  return { version, topic: topic as Topic, subject: JSON.parse(subject_json) };
}
