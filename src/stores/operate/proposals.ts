import { type Selectable, sql, type Updateable } from 'kysely';
import { OPEN_PROPOSAL_STATUSES, type ProposalStatus } from '../../core/operate/proposals.js';
import { auditResource } from '../audit/audit-scope.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { ProposalTable } from '../schema/operate-tables.js';
import { acquireLock, getVocabulary } from '../schema/vocabulary.js';

export type ProposalRow = Omit<Selectable<ProposalTable>, 'status'> & { readonly status: ProposalStatus };

/** A row of a list, without the columns that can be large. */
export type ListedProposalRow = Omit<
  ProposalRow,
  'requester_json' | 'evidence_json' | 'statement' | 'result_json'
>;

/** Changes of a proposal. The id and the statement never change. */
export type ProposalChange = Partial<Omit<Updateable<ProposalTable>, 'id' | 'statement' | 'status'>> & {
  readonly status?: ProposalStatus;
};

/** A new proposal. Its other members are empty. */
export type NewProposal = Pick<
  ProposalRow,
  | 'id'
  | 'kind'
  | 'actuator'
  | 'requested_by'
  | 'requested_by_agent'
  | 'tenant'
  | 'finding_id'
  | 'autonomy_rule'
  | 'summary_json'
  | 'requester_json'
  | 'evidence_json'
  | 'statement'
  | 'expires_at'
  | 'created_at'
> & { readonly open_key: string };

/** Filters of a list. Absent members do not restrict it. */
export interface ProposalQuery {
  readonly statuses?: readonly ProposalStatus[] | undefined;
  readonly kind?: string | undefined;
  readonly requestedBy?: string | undefined;
  readonly findingIds?: readonly string[] | undefined;
  readonly autonomyRule?: string | undefined;
  readonly tenant?: string | undefined;
  readonly limit: number;
}

/** Why a proposal was not stored: too many proposals of the caller, or of all callers, are open. */
export type ProposalRefusal = 'full' | 'full-for-caller';

const WAITING = 'AwaitingApproval';
const LISTED = [
  ...(['id', 'kind', 'actuator', 'status', 'requested_by', 'requested_by_agent', 'tenant'] as const),
  ...(['finding_id', 'autonomy_rule', 'summary_json', 'open_key', 'approval', 'receipt', 'stage'] as const),
  ...(['acted_at', 'job_id', 'resolved_by', 'resolved_at', 'resolution_reason', 'outcome'] as const),
  ...(['blocking_json', 'expires_at', 'created_at', 'updated_at'] as const),
] as const;

/** Numbers of the proposals of a rule. Times are milliseconds since 1970. */
export interface RuleOutcomes {
  readonly rule: string;
  readonly raised: number;
  /** Approved by a person. */
  readonly approved: number;
  /** Approved by a policy. */
  readonly autoApplied: number;
  readonly rejected: number;
  readonly failed: number;
  readonly rolledBack: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Proposals of actions, with their sealed statements. */
export class ProposalStore {
  constructor(private readonly db: StateDb) {}

  /**
   * Stores a proposal, or returns the open one with the same `open_key` or of the same finding. `limits` are numbers of waiting proposals.
   */
  add(
    proposal: NewProposal,
    limits: { readonly perCaller: number; readonly all: number },
  ): Promise<{ row: ProposalRow; created: boolean } | ProposalRefusal> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'proposals');
      const before = await trx
        .selectFrom('proposals')
        .selectAll()
        .where((e) =>
          e.or([
            e('open_key', '=', proposal.open_key),
            e.and([e('finding_id', '=', proposal.finding_id), e('status', 'in', OPEN_PROPOSAL_STATUSES)]),
          ]),
        )
        .orderBy('created_at')
        .executeTakeFirst();
      auditResource(before?.id ?? proposal.id, { actuator: proposal.actuator });
      if (before) return { row: before as ProposalRow, created: false };
      const counts = await trx
        .selectFrom('proposals')
        .select((w) => ['requested_by', w.fn.countAll<number>().as('count')])
        .where('status', '=', WAITING)
        .groupBy('requested_by')
        .execute();
      const own = counts.find(({ requested_by }) => requested_by === proposal.requested_by)?.count ?? 0;
      if (Number(own) >= limits.perCaller) return 'full-for-caller';
      if (counts.reduce((sum, { count }) => sum + Number(count), 0) >= limits.all) return 'full';
      const row = await trx
        .insertInto('proposals')
        .values({
          ...proposal,
          status: WAITING,
          blocking_json: '[]',
          updated_at: proposal.created_at,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return { row: row as ProposalRow, created: true };
    });
  }

  async get(id: string): Promise<ProposalRow | undefined> {
    const row = await this.db.selectFrom('proposals').selectAll().where('id', '=', id).executeTakeFirst();
    return row as ProposalRow | undefined;
  }

  /** Newest first. */
  async list(query: ProposalQuery): Promise<ListedProposalRow[]> {
    let rows = this.db
      .selectFrom('proposals')
      .select(LISTED)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc');
    if (query.statuses) rows = rows.where('status', 'in', query.statuses);
    if (query.kind !== undefined) rows = rows.where('kind', '=', query.kind);
    if (query.requestedBy !== undefined) rows = rows.where('requested_by', '=', query.requestedBy);
    if (query.findingIds) rows = rows.where('finding_id', 'in', query.findingIds);
    if (query.autonomyRule !== undefined) rows = rows.where('autonomy_rule', '=', query.autonomyRule);
    if (query.tenant !== undefined) rows = rows.where('tenant', '=', query.tenant);
    return (await rows.limit(query.limit).execute()) as ListedProposalRow[];
  }

  /** The row, which no other transaction can change before this one ends. Must be called in a transaction. */
  async lock(id: string): Promise<ProposalRow | undefined> {
    const one = this.db.selectFrom('proposals').selectAll().where('id', '=', id);
    return (await getVocabulary(this.db).forUpdate(one).executeTakeFirst()) as ProposalRow | undefined;
  }

  /** Changes a row. New proposals are compared only with undecided ones. */
  async change(id: string, change: ProposalChange): Promise<ProposalRow> {
    auditResource(id);
    const isDecided = change.status !== undefined && change.status !== WAITING;
    const row = await this.db
      .updateTable('proposals')
      .set({ ...change, ...(isDecided ? { open_key: null } : {}), updated_at: Date.now() })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    return row as ProposalRow;
  }

  /** Removes proposals that were not changed since a time in milliseconds since 1970, unless they are being executed. */
  async removeOld(time: number): Promise<number> {
    const { numDeletedRows } = await this.db
      .deleteFrom('proposals')
      .where('updated_at', '<', time)
      .where('status', 'not in', ['Submitted', 'Executing', 'Reconciling'])
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  /** Outcomes of the proposals of rules. */
  async countByRule(): Promise<RuleOutcomes[]> {
    const isIn = (...statuses: ProposalStatus[]) =>
      sql<number>`sum(CASE WHEN status IN (${sql.join(statuses)}) THEN 1 ELSE 0 END)`;
    const isByPolicy = sql<boolean>`resolved_by LIKE 'policy:%'`;
    const rows = await this.db
      .selectFrom('proposals')
      .where('autonomy_rule', 'is not', null)
      .groupBy('autonomy_rule')
      .select((e) => [
        'autonomy_rule as rule',
        e.fn.countAll<number>().as('raised'),
        sql<number>`sum(CASE WHEN approval IS NOT NULL AND NOT ${isByPolicy} THEN 1 ELSE 0 END)`.as(
          'approved',
        ),
        sql<number>`sum(CASE WHEN approval IS NOT NULL AND ${isByPolicy} THEN 1 ELSE 0 END)`.as(
          'autoApplied',
        ),
        isIn('Rejected').as('rejected'),
        isIn('Failed').as('failed'),
        isIn('RolledBack').as('rolledBack'),
        e.fn.min<number>('created_at').as('firstAt'),
        e.fn.max<number>('updated_at').as('lastAt'),
      ])
      .execute();
    return rows.map(({ rule, ...counts }) => ({
      rule: rule!,
      ...(Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count)])) as Omit<
        RuleOutcomes,
        'rule'
      >),
    }));
  }
}
