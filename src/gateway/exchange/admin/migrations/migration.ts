import { randomUUID } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { ApiError, notFound } from '../../../../core/errors/errors.js';
import { problem, requireSound } from '../../../../core/http/body-problems.js';
import { formatActor, type Reply } from '../../../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../../../core/http/params.js';
import { json } from '../../../../core/http/reply.js';
import { canonical, computeFingerprint, fingerprintWithin } from '../../../../core/values/fingerprint.js';
import type { DocumentStore, StoredDocument } from '../../../../stores/state/documents.js';

import { timestamp } from '../../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../../admin/kit.js';
import { defineFilterParam, enumeration } from '../../../admin/params.js';
import { recordExport } from '../../../http/recorded-export.js';
import {
  EvidenceBody,
  EvidencePage,
  MigrationRunBody,
  NewEvidence,
  PACK_CHARACTERS,
  RUN_STATES,
  RunCancel,
  RunEnd,
  RunPage,
  RunStart,
  ScorecardBody,
} from './migration-schemas.js';

const SERVICES = ['state'] as const;
const { action, implement, report } = createRowBuilders(SERVICES);

/** Kinds of documents: runs, their results, and evidence of their performance. */
const RUNS = 'migration run';
const PACKS = 'migration evidence pack';
const SCORECARDS = 'migration scorecard';
const PERFORMANCE = 'migration performance evidence';

type RunRecord = Static<typeof MigrationRunBody>;
type EvidenceRecord = Static<typeof EvidenceBody>;
type RunEndRecord = Static<typeof RunEnd>;

/** A pack as it came, and its digest. */
interface Pack {
  text: string;
  fingerprint: string;
}

const byId = { runId: pathString('runId', 'Id of the run.') };
const MAX_RUNS = 100;
const MAX_EVIDENCE = 200;
const ARTIFACT_BYTES = 4 << 20;
/** A body whose every character is an escape. */
const PACK_BYTES = PACK_CHARACTERS * 6;

const limit = (max: number) =>
  defineIntegerParam(
    'limit',
    { min: 1, max, default: 50 },
    { description: 'Maximum number of items in the response.' },
  );

/** Records of migrations that programs carry out, and evidence of them. */
export const migration = group({ tag: 'Migration', scope: 'migration', envelope: 'raw' }, [
  report('GET /migration/performance-evidence/latest', 'Get Latest Migration Performance Evidence', {
    responses: {
      200: { description: 'The latest', content: { 'application/json': EvidenceBody } },
      204: { description: 'No evidence is recorded.' },
    },
    async reply(_x, { state }) {
      const latest = (await listEvidence(state.documents)).at(0);
      return latest ? json(latest) : { status: 204 };
    },
  }),
  report('GET /migration/performance-evidence/history', 'List Migration Performance Evidence History', {
    params: {
      sourceFamily: defineFilterParam('sourceFamily', 'Only evidence of sources of this family.'),
      size: defineFilterParam('size', 'Only evidence of fixtures of this size.'),
      limit: limit(MAX_EVIDENCE),
    },
    data: EvidencePage,
    errors: [400],
    async answer({ params: { sourceFamily, size, limit } }, { state }) {
      const all = (await listEvidence(state.documents)).filter(
        (one) => isAsked(sourceFamily, one.sourceFamily) && isAsked(size, one.fixtureSize),
      );
      const items = all.slice(0, limit);
      const filters = { sourceFamily: sourceFamily ?? null, fixtureSize: size ?? null };
      return { items, count: items.length, limit, ...filters };
    },
  }),
  report('GET /migration/performance-evidence/{evidenceId}', 'Get Migration Performance Evidence', {
    params: { evidenceId: pathString('evidenceId', 'Id of the evidence.') },
    data: EvidenceBody,
    errors: [404],
    answer: async ({ params: { evidenceId } }, { state }) =>
      (await required<EvidenceRecord>(state.documents, PERFORMANCE, evidenceId)).body,
  }),
  ...resource(
    '/migration/runs/{runId}',
    {
      list: 'List Migration Runs',
      create: 'Record Migration Run Started',
      get: 'Get Migration Run',
    },
    {
      list: implement({
        params: {
          status: enumeration('status', RUN_STATES, 'Only runs in this state.'),
          sourceKind: defineFilterParam('sourceKind', 'Only runs from sources of this kind.'),
          limit: limit(MAX_RUNS),
          offset: defineIntegerParam(
            'offset',
            { min: 0, max: 1_000_000, default: 0 },
            { description: 'Number of items to skip.' },
          ),
        },
        data: RunPage,
        errors: [400],
        async answer({ params: { status, sourceKind, limit, offset } }, { state }) {
          const runs = (await state.documents.list<RunRecord>(RUNS))
            .map(({ body }) => body)
            .filter((run) => isAsked(status, run.status) && isAsked(sourceKind, run.sourceKind))
            .sort((a, b) => Date.parse(b.startedAt) - Date.parse(a.startedAt));
          return { items: runs.slice(offset, offset + limit), totalCount: runs.length, limit, offset };
        },
      }),
      create: implement({
        body: jsonBody(RunStart),
        data: MigrationRunBody,
        errors: [400, 409],
        async answer({ body, principal }, { state }) {
          const run = begun(body as Static<typeof RunStart>);
          return (await state.documents.create(RUNS, run.runId, run, formatActor(principal))).body;
        },
      }),
      get: implement({
        params: byId,
        data: MigrationRunBody,
        errors: [404],
        answer: async ({ params: { runId } }, { state }) =>
          (await required<RunRecord>(state.documents, RUNS, runId)).body,
      }),
    },
  ),
  action('POST /migration/runs/{runId}/complete', 'Record Migration Run Completed', {
    description:
      'An evidence pack is JSON; its fingerprint is the SHA-256 of its text, and is checked where it is said.',
    params: byId,
    body: { ...jsonBody(RunEnd), maxBytes: PACK_BYTES },
    data: MigrationRunBody,
    errors: [400, 404, 409, 413],
    async answer({ params: { runId }, body, principal }, { state }) {
      const pack = findPack(body);
      return changed(
        state.documents,
        runId,
        async (store, by) => {
          if (pack) await store.put<Pack>(PACKS, runId, pack, by);
          return (run) => ended(requireRunning(run), body, pack);
        },
        formatActor(principal),
      );
    },
  }),
  action('POST /migration/runs/{runId}/cancel', 'Cancel Migration Run', {
    params: byId,
    body: jsonBody(RunCancel, false),
    data: MigrationRunBody,
    errors: [400, 404, 409],
    answer: ({ params: { runId }, body, principal }, { state }) =>
      changed(
        state.documents,
        runId,
        async () => (run) => ({
          ...requireRunning(run),
          status: 'cancelled',
          statusNote: body?.reason ?? run.statusNote,
          completedAt: timestamp(Date.now()),
        }),
        formatActor(principal),
      ),
  }),
  report('GET /migration/runs/{runId}/evidence-pack', 'Download Migration Run Evidence Pack', {
    params: byId,
    exports: true,
    responses: {
      200: { description: 'The pack as it came', content: { 'application/json': Type.Object({}) } },
    },
    errors: [404],
    async reply(x, { state }) {
      const { text, fingerprint } = (await required<Pack>(state.documents, PACKS, x.params.runId)).body;
      recordExport(x, { format: 'json', filter: { run: x.params.runId }, count: 1 });
      return attachment(text, fingerprint, `${x.params.runId}-evidence-pack.json`);
    },
  }),
  report('GET /migration/runs/{runId}/scorecard', 'Download Migration Run Reconciliation Scorecard', {
    params: byId,
    exports: true,
    responses: { 200: { description: 'The scorecard', content: { 'application/json': ScorecardBody } } },
    errors: [404],
    async reply(x, { state }) {
      const { body } = await required<Static<typeof ScorecardBody>>(
        state.documents,
        SCORECARDS,
        x.params.runId,
      );
      recordExport(x, { format: 'json', filter: { run: x.params.runId }, count: 1 });
      return attachment(JSON.stringify(body), body.fingerprint, `${x.params.runId}-scorecard.json`);
    },
  }),
  action('POST /migration/runs/{runId}/scorecard', 'Record Migration Run Reconciliation Scorecard', {
    description:
      'The fingerprint of a run is the SHA-256 of the scorecard without its fingerprint, as JSON whose members are in the order of their names, without white space. If a scorecard states another one, the server recomputes it and keeps the other as statedFingerprint.',
    params: byId,
    body: jsonBody(ScorecardBody),
    data: MigrationRunBody,
    errors: [400, 404],
    async answer({ params: { runId }, body, principal }, { state }) {
      const { body: run } = await required<RunRecord>(state.documents, RUNS, runId);
      requireScorecard(body, run);
      const card = withFingerprint(body);
      return changed(
        state.documents,
        runId,
        async (store, by) => {
          await store.put(SCORECARDS, runId, card, by);
          return (before) => ({
            ...before,
            hasReconciliationScorecard: true,
            reconciliationScorecardFingerprint: card.fingerprint,
          });
        },
        formatActor(principal),
      );
    },
  }),
]);

/** An extension of the contract, which reads this evidence but has no operation that creates it. */
export const performanceEvidence = group({ tag: 'Migration', scope: 'migration', envelope: 'raw' }, [
  action('POST /migration/performance-evidence', 'Record Migration Performance Evidence', {
    description:
      'Keeps the results of a benchmark, as `./run bench` or another program wrote them. The fingerprint is the SHA-256 of the artifact, as JSON whose members are in the order of their names, without white space.',
    body: { ...jsonBody(NewEvidence), maxBytes: ARTIFACT_BYTES },
    data: EvidenceBody,
    status: 201,
    location: ({ evidenceId }: EvidenceRecord) => `/migration/performance-evidence/${evidenceId}`,
    errors: [400, 413],
    async answer({ body, principal }, { state }) {
      const { artifact, generatedAt } = body;
      const evidence: EvidenceRecord = {
        ...body,
        evidenceId: randomUUID(),
        fingerprint: computeFingerprint(canonical(artifact)),
        generatedAt: generatedAt ?? timestamp(Date.now()),
      };
      await state.documents.create(PERFORMANCE, evidence.evidenceId, evidence, formatActor(principal));
      return evidence;
    },
  }),
]);

const isAsked = (asked: string | undefined, value: string) =>
  asked === undefined || asked.toLowerCase() === value.toLowerCase();

async function listEvidence(documents: DocumentStore): Promise<EvidenceRecord[]> {
  const all = await documents.list<EvidenceRecord>(PERFORMANCE);
  return all.map(({ body }) => body).sort((a, b) => Date.parse(b.generatedAt) - Date.parse(a.generatedAt));
}

async function required<T>(documents: DocumentStore, kind: string, id: string): Promise<StoredDocument<T>> {
  const document = await documents.get<T>(kind, id);
  if (!document) throw notFound(kind, id.slice(0, 128));
  return document;
}

function begun({ runId, sourceKind, startedAt, ...words }: Static<typeof RunStart>): RunRecord {
  return {
    runId,
    sourceKind,
    sourceUrl: words.sourceUrl ?? null,
    sourceDisplayName: words.sourceDisplayName ?? null,
    status: 'running',
    statusNote: words.statusNote ?? null,
    startedAt: startedAt ?? timestamp(Date.now()),
    completedAt: null,
    hasEvidencePack: false,
    evidencePackRef: null,
    evidencePackFingerprint: null,
    hasReconciliationScorecard: false,
    reconciliationScorecardFingerprint: null,
  };
}

/** Changes a run, and what belongs to it, in one transaction. */
function changed(
  documents: DocumentStore,
  runId: string,
  work: (store: DocumentStore, by: string) => Promise<(run: RunRecord) => RunRecord>,
  by: string,
): Promise<RunRecord> {
  return documents.together([RUNS, runId], async (store) => {
    await required<RunRecord>(store, RUNS, runId);
    const change = await work(store, by);
    return (await store.update<RunRecord>(RUNS, runId, by, change)).body;
  });
}

function requireRunning(run: RunRecord): RunRecord {
  if (run.status !== 'running')
    throw new ApiError('conflict', `The run has already ended (${run.status}). Start another one.`);
  return run;
}

function findPack({ evidencePackBody: text, evidencePackFingerprint: said }: RunEndRecord): Pack | undefined {
  if (text === undefined || text === null) return undefined;
  const fingerprint = computeFingerprint(text);
  requireSound([
    isJson(text) ? undefined : problem('evidencePackBody', 'must be JSON'),
    said && said !== fingerprint
      ? problem('evidencePackFingerprint', `must be the fingerprint of evidencePackBody, ${fingerprint}`)
      : undefined,
  ]);
  return { text, fingerprint };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function ended(run: RunRecord, body: RunEndRecord, pack: Pack | undefined): RunRecord {
  const { status, completedAt, statusNote, evidencePackRef, evidencePackFingerprint } = body;
  return {
    ...run,
    status,
    completedAt: completedAt ?? timestamp(Date.now()),
    statusNote: statusNote ?? run.statusNote,
    hasEvidencePack: pack !== undefined,
    evidencePackRef: evidencePackRef ?? null,
    evidencePackFingerprint: pack?.fingerprint ?? evidencePackFingerprint ?? null,
  };
}

/** Throws `invalid-body` for a scorecard that is not of this run, or contradicts itself. */
function requireScorecard(card: Static<typeof ScorecardBody>, run: RunRecord): void {
  const { layerCount, passCount, warnCount, failCount, skippedCount, layers, classification } =
    card.dataReconciliation;
  const parity = card.capabilityParity;
  const constructs =
    parity.automatedCount + parity.assistedCount + parity.manualReviewCount + parity.unsupportedCount;
  requireSound([
    card.runId === run.runId ? undefined : problem('runId', 'must be the same as in the path'),
    card.sourceKind === run.sourceKind ? undefined : problem('sourceKind', 'must be the same as in the run'),
    layerCount === passCount + warnCount + failCount + skippedCount
      ? undefined
      : problem('dataReconciliation/layerCount', 'must be the sum of the counts'),
    layers.length === layerCount
      ? undefined
      : problem('dataReconciliation/layers', 'must be as many as layerCount'),
    parity.constructCount === constructs
      ? undefined
      : problem('capabilityParity/constructCount', 'must be the sum of the counts'),
    failCount > 0 && classification !== 'fail'
      ? problem('dataReconciliation/classification', "must be 'fail', because a layer failed")
      : undefined,
    classification === 'fail' && card.verdict !== 'fail'
      ? problem('verdict', "must be 'fail', because dataReconciliation/classification is 'fail'")
      : undefined,
  ]);
}

/** Returns the scorecard with its fingerprint: other programs compute theirs in other ways, which cannot be checked. */
function withFingerprint(card: Static<typeof ScorecardBody>): Static<typeof ScorecardBody> {
  if (card.fingerprint === fingerprintWithin(card)) return card;
  const restated = { ...card, statedFingerprint: card.fingerprint };
  return { ...restated, fingerprint: fingerprintWithin(restated) };
}

function attachment(body: string, fingerprint: string, name: string): Reply {
  return {
    status: 200,
    mediaType: 'application/json',
    body,
    etag: fingerprint.replace(':', '-'),
    cacheControl: 'no-cache',
    headers: {
      'content-disposition': `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`,
    },
  };
}
