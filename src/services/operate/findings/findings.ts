import { ApiError, notFound } from '../../../core/errors/errors.js';
import type { FindingNoteRow, FindingStore } from '../../../stores/operate/findings.js';
import { withDeadline } from '../../kit/deadline.js';
import { shareWork } from '../../kit/shared-work.js';
import { createFindingId, type FindingDraft, type OpsFinding, type OpsRule } from './finding.js';

/** A rule whose facts could not be read completely. */
interface IncompleteRule {
  readonly rule: string;
  readonly reason: string;
}

/** The findings of a moment. */
export interface FindingReport {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** In the order of severity, rule and id. */
  readonly findings: readonly OpsFinding[];
  readonly incomplete: readonly IncompleteRule[];
}

export interface FindingsDeps {
  readonly rules: readonly OpsRule[];
  readonly store: Pick<FindingStore, 'note' | 'notes' | 'addNote'>;
}

/** Milliseconds for which a rule can read its facts. */
const PATIENCE_MS = 5000;
const LATE = `the facts did not arrive within ${PATIENCE_MS / 1000} seconds`;
/** Rule of findings about missing facts. */
const INCOMPLETE_RULE = 'evidence-incomplete';
const RANKS = { Critical: 0, Warning: 1, Info: 2 } as const;

/** Evaluates the rules. Each evaluation reads the facts again; calls at the same time share one evaluation. */
export class Findings {
  readonly evaluate: () => Promise<FindingReport>;

  constructor(private readonly deps: FindingsDeps) {
    this.evaluate = shareWork(() => this.#evaluate());
  }

  /** Names of the rules, in their order. */
  get rules(): readonly string[] {
    return this.deps.rules.map(({ name }) => name);
  }

  /** The finding of this id and its notes. Throws `not-found` if there is none now. */
  async get(
    id: string,
  ): Promise<{ readonly finding: OpsFinding; readonly notes: readonly FindingNoteRow[] }> {
    const [{ findings }, notes] = await Promise.all([this.evaluate(), this.deps.store.notes(id)]);
    const finding = findings.find((one) => one.id === id);
    if (!finding) throw notFound('finding', id.slice(0, 200));
    return { finding, notes };
  }

  /** Keeps a diagnosis with a finding. Throws `not-found`, and `conflict` if it has too many notes. */
  async addNote(id: string, author: string, note: { readonly agent: string | null; readonly text: string }) {
    await this.get(id);
    const isAdded = await this.deps.store.addNote({ finding_id: id, author, ...note });
    if (!isAdded) throw new ApiError('conflict', 'The finding has the maximum number of notes.');
    return this.get(id);
  }

  async #evaluate(): Promise<FindingReport> {
    const results = await Promise.all(this.deps.rules.map(inspect));
    const incomplete = results.flatMap(({ missing }) => missing ?? []);
    const drafts = [
      ...results.flatMap(({ rule, findings }) => findings.map((draft) => ({ rule, draft }))),
      ...incomplete.map((one) => ({ rule: INCOMPLETE_RULE, draft: describeIncomplete(one) })),
    ];
    const found = drafts.map(({ rule, draft }) => ({
      ...draft,
      rule,
      id: createFindingId(rule, draft.subject),
    }));
    const complete = results.filter(({ missing }) => !missing).map(({ rule }) => rule);
    const times = await this.deps.store.note(found, [...complete, INCOMPLETE_RULE]);
    const at = Date.now();
    const findings = found.map((one): OpsFinding => ({ ...one, detectedAt: times.get(one.id) ?? at }));
    return { at, findings: findings.sort(compareFindings), incomplete };
  }
}

interface RuleResult {
  readonly rule: string;
  readonly findings: readonly FindingDraft[];
  readonly missing?: IncompleteRule;
}

async function inspect(one: OpsRule): Promise<RuleResult> {
  const rule = one.name;
  try {
    const work = Promise.resolve().then(() => one.inspect());
    const { findings, silent = [] } = await withDeadline(work, PATIENCE_MS, LATE);
    if (silent.length === 0) return { rule, findings };
    return { rule, findings, missing: { rule, reason: `no report from ${silent.join(', ')}` } };
  } catch (error) {
    return { rule, findings: [], missing: { rule, reason: (error as Error).message } };
  }
}

function describeIncomplete({ rule, reason }: IncompleteRule): FindingDraft {
  return {
    subject: { targetId: rule },
    severity: 'Warning',
    title: `The rule ${rule} has incomplete evidence`,
    explanation: `${reason}. Until the evidence is complete, no action of this rule is proposed.`,
    evidenceRefs: [`rule:${rule}`],
    facts: { rule, reason },
  };
}

function compareFindings(one: OpsFinding, other: OpsFinding): number {
  const ranks = RANKS[one.severity] - RANKS[other.severity];
  return ranks || (one.rule < other.rule ? -1 : one.rule > other.rule ? 1 : one.id < other.id ? -1 : 1);
}
