import { type Selectable, sql, type Updateable } from 'kysely';
import { ApiError } from '../../core/errors/errors.js';
import { StateError } from '../../workers/state/link.js';
import { auditResource } from '../audit/audit-scope.js';
import { announce } from '../database/announcements.js';
import type { StateDb } from '../schema/database.js';
import type { UserSource, UserTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** A stored user. It contains only the hash of the password. */
export interface StoredUser {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly email: string | null;
  readonly passwordHash: string | null;
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, readonly string[]>>;
  readonly source: UserSource;
  readonly providerId: string | null;
  readonly subject: string | null;
  readonly tenantId: string | null;
  readonly isActive: boolean;
  readonly failures: number;
  readonly lockedUntil: number;
  readonly createdAt: number;
  /** In the notation of `formatActor`. Null for users of a provider, and users of older releases. */
  readonly createdBy: string | null;
  readonly updatedAt: number;
}

/** Filter for lists of users. */
export interface UserSearch {
  readonly source?: UserSource;
  readonly role?: string;
  readonly active?: boolean;
  readonly tenantId?: string;
  readonly offset: number;
  readonly limit: number;
}

/** Rules for locking a user after wrong passwords. */
export interface Lockout {
  /** The failure from which on the user is locked. */
  readonly free: number;
  readonly firstMs: number;
  readonly longestMs: number;
  /** Further failures after which the lock is the longest. */
  readonly doublings: number;
}

/** Members that a change sets. Missing members are unchanged. */
export type UserChange = Partial<
  Pick<StoredUser, 'displayName' | 'email' | 'passwordHash' | 'roles' | 'claims' | 'tenantId' | 'isActive'>
>;

/** Users. Each change announces itself, because it can change the rights of the user. */
export class UserStore {
  constructor(private readonly db: StateDb) {}

  async list({
    source,
    role,
    active,
    tenantId,
    offset,
    limit,
  }: UserSearch): Promise<{ users: StoredUser[]; total: number }> {
    const all = this.db
      .selectFrom('users')
      .$if(source !== undefined, (q) => q.where('source', '=', source!))
      .$if(active !== undefined, (q) => q.where('is_active', '=', Number(active)))
      .$if(tenantId !== undefined, (q) => q.where('tenant_id', '=', tenantId!))
      .$if(role !== undefined, (q) => q.where(getVocabulary(this.db).hasElement('roles_json', role!)));
    const { total } = await all
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    const rows = await all
      .selectAll()
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .offset(offset)
      .execute();
    return { users: rows.map(stored), total: Number(total) };
  }

  async get(id: string): Promise<StoredUser | undefined> {
    const row = await this.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
    return row && stored(row);
  }

  async byName(name: string): Promise<StoredUser | undefined> {
    const row = await this.db
      .selectFrom('users')
      .selectAll()
      .where('name', '=', name.toLowerCase())
      .executeTakeFirst();
    return row && stored(row);
  }

  async bySubject(providerId: string, subject: string): Promise<StoredUser | undefined> {
    const row = await this.db
      .selectFrom('users')
      .selectAll()
      .where('provider_id', '=', providerId)
      .where('subject', '=', subject)
      .executeTakeFirst();
    return row && stored(row);
  }

  /** Adds a user. Throws `conflict` if the name is taken. */
  async add(user: StoredUser): Promise<void> {
    auditResource(user.id, { name: user.name, roles: user.roles });
    try {
      await this.db.transaction().execute(async (trx) => {
        await trx.insertInto('users').values(buildRow(user)).execute();
        await announce(trx, 'access', { kind: 'user', id: user.id });
      });
    } catch (error) {
      if (error instanceof StateError && error.duplicate)
        throw new ApiError('conflict', `name: the user '${user.name}' already exists. Choose another name.`);
      throw error;
    }
  }

  /**
   * Changes a user, and returns it. Undefined if the user does not exist. An announcement of the change lets all
   * processes discard their cached data about the user.
   */
  update(id: string, change: UserChange): Promise<StoredUser | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const row = await trx
        .updateTable('users')
        .set({ ...buildColumns(change), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (!row) return undefined;
      auditResource(id, Object.fromEntries(Object.keys(change).map((name) => [name, 'changed'])));
      await announce(trx, 'access', { kind: 'user', id });
      return stored(row);
    });
  }

  /**
   * Counts a wrong password within the statement, so that concurrent attempts count separately. From `free` failures,
   * each further failure doubles the time for which the user is locked. A user who is already locked is unchanged.
   */
  async countFailure(
    id: string,
    now: number,
    { free, firstMs, longestMs, doublings }: Lockout,
  ): Promise<void> {
    const failures = sql<number>`failures + 1`;
    const locked = sql<number>`CASE
      WHEN ${failures} < ${sql.lit(free)} THEN 0
      WHEN ${failures} >= ${sql.lit(free + doublings)} THEN CAST(${now} AS BIGINT) + ${sql.lit(longestMs)}
      ELSE CAST(${now} AS BIGINT) + ${sql.lit(firstMs)} * (1 << CAST(${failures} - ${sql.lit(free)} AS INTEGER)) END`;
    await this.db
      .updateTable('users')
      .set({ failures, locked_until: locked })
      .where('id', '=', id)
      .where('locked_until', '<=', now)
      .execute();
  }

  /** Notes that the password was right. */
  async clearFailures(id: string, now: number): Promise<void> {
    await this.db
      .updateTable('users')
      .set({ failures: 0, locked_until: 0 })
      .where('id', '=', id)
      .where('locked_until', '<=', now)
      .execute();
  }

  /** With all sessions and keys. False when there was none. */
  remove(id: string): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      await trx.deleteFrom('sessions').where('user_id', '=', id).execute();
      await trx.deleteFrom('user_keys').where('user_id', '=', id).execute();
      const { numDeletedRows } = await trx.deleteFrom('users').where('id', '=', id).executeTakeFirst();
      if (numDeletedRows === 0n) return false;
      await announce(trx, 'access', { kind: 'user', id });
      return true;
    });
  }
}

function buildColumns(change: UserChange): Updateable<UserTable> {
  const { displayName, email, passwordHash, roles, claims, tenantId, isActive } = change;
  return {
    ...(displayName === undefined ? {} : { display_name: displayName }),
    ...(email === undefined ? {} : { email }),
    // A new password resets the failures of the old one.
    ...(passwordHash === undefined ? {} : { password_hash: passwordHash, failures: 0, locked_until: 0 }),
    ...(roles === undefined ? {} : { roles_json: JSON.stringify(roles) }),
    ...(claims === undefined ? {} : { claims_json: JSON.stringify(claims) }),
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
    ...(isActive === undefined ? {} : { is_active: Number(isActive) }),
  };
}

function buildRow(user: StoredUser): UserTable {
  return {
    id: user.id,
    name: user.name.toLowerCase(),
    display_name: user.displayName,
    email: user.email,
    password_hash: user.passwordHash,
    roles_json: JSON.stringify(user.roles),
    claims_json: JSON.stringify(user.claims),
    source: user.source,
    provider_id: user.providerId,
    subject: user.subject,
    tenant_id: user.tenantId,
    is_active: Number(user.isActive),
    failures: user.failures,
    locked_until: user.lockedUntil,
    created_at: user.createdAt,
    created_by: user.createdBy,
    updated_at: user.updatedAt,
  };
}

function stored(row: Selectable<UserTable>): StoredUser {
  return {
    id: row.id,
    name: row.name,
    displayName: row.display_name,
    email: row.email,
    passwordHash: row.password_hash,
    roles: JSON.parse(row.roles_json) as string[],
    claims: JSON.parse(row.claims_json) as Record<string, string[]>,
    source: row.source,
    providerId: row.provider_id,
    subject: row.subject,
    tenantId: row.tenant_id,
    isActive: row.is_active !== 0,
    failures: row.failures,
    lockedUntil: row.locked_until,
    createdAt: row.created_at,
    createdBy: row.created_by,
    updatedAt: row.updated_at,
  };
}
