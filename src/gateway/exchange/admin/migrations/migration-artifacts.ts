import Type, { type Static } from 'typebox';
import { ApiError, badParameter, notFound } from '../../../../core/errors/errors.js';
import { problem, requireSound } from '../../../../core/http/body-problems.js';
import { formatActor } from '../../../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../../../core/http/params.js';
import { PROCESS_DESCRIPTIONS } from '../../../../services/processes/catalogue/index.js';
import { type Classification, classify } from '../../../../services/processes/toolbox.js';

import { timestamp } from '../../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../../admin/kit.js';
import { defineFilterParam, enumeration } from '../../../admin/params.js';
import {
  Manifest,
  ManifestBody,
  Parity,
  RECORD_STATES,
  RecordHead,
  RecordItem,
  ToolboxBody,
  ToolboxReport,
} from './migration-artifact-files.js';
import { RUN_ID } from './migration-schemas.js';

const SERVICES = ['state'] as const;
const { action, report } = createRowBuilders(SERVICES);

/** Kinds of documents: what lists show, and the artifacts themselves. */
const RECORDS = 'platform-a migration';
const MANIFESTS = 'platform-a manifest';
const PARITIES = 'platform-a parity';

type Item = Static<typeof RecordItem>;
type ManifestRecord = Static<typeof Manifest>;
type ParityRecord = Static<typeof Parity>;

const PATH = '/import/platform-a/migrations';
const byId = { runId: pathString('runId', 'Id of the run.') };
const LARGE = { maxBytes: 8 << 20, bounds: { values: 500_000, names: 300_000 } };

/** Artifacts of migrations from platform-a, and translations of toolboxes. */
export const migrationArtifacts = group({ tag: 'Import', scope: 'import-services', envelope: 'raw' }, [
  report(`GET ${PATH}`, 'List Migration Runs (platform-a)', {
    params: {
      page: defineIntegerParam(
        'page',
        { min: 0, max: 1_000_000, default: 0 },
        { description: 'Page, counted from 0.' },
      ),
      pageSize: defineIntegerParam(
        'pageSize',
        { min: 1, max: 100, default: 50 },
        { description: 'Maximum number of items in the response.' },
      ),
      sourceUrl: defineFilterParam('sourceUrl', 'Only runs from this source.'),
      status: enumeration('status', RECORD_STATES, 'Only runs in this state.'),
    },
    data: Type.Object({
      items: Type.Array(RecordItem),
      page: Type.Integer(),
      pageSize: Type.Integer(),
      totalCount: Type.Integer(),
    }),
    errors: [400],
    async answer({ params: { page, pageSize, sourceUrl, status } }, { state }) {
      const records = (await state.documents.list<Item>(RECORDS))
        .map(({ body }) => body)
        .filter((one) => sourceUrl === undefined || one.sourceUrl === sourceUrl)
        .filter((one) => status === undefined || one.status === status)
        .sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
      const items = records.slice(page * pageSize, (page + 1) * pageSize);
      return { items, page, pageSize, totalCount: records.length };
    },
  }),
  report(`GET ${PATH}/{runId}/manifest`, 'Get Migration Manifest', {
    params: byId,
    data: Manifest,
    errors: [404],
    answer: async ({ params: { runId } }, { state }) =>
      (await state.documents.get<ManifestRecord>(MANIFESTS, runId))?.body ?? missing('manifest', runId),
  }),
  action(`POST ${PATH}/{runId}/manifest`, 'Record Migration Manifest', {
    description: 'Takes the place of an earlier one, whose parity is dropped.',
    params: byId,
    body: { ...jsonBody(ManifestBody), ...LARGE },
    data: Type.Object(RecordHead),
    errors: [400, 413],
    async answer({ params: { runId }, body, principal }, { state }) {
      requireRunId(runId);
      requireManifest(body.manifest);
      const by = formatActor(principal);
      const record = readRecord(runId, body, by);
      await state.documents.together([RECORDS, runId], async (store) => {
        await store.remove(PARITIES, runId);
        await store.put(MANIFESTS, runId, body.manifest, by);
        await store.put(RECORDS, runId, record, by);
      });
      const { status: _, hasParity: _has, targetResourceCount: _count, ...head } = record;
      return head;
    },
  }),
  report(`GET ${PATH}/{runId}/parity`, 'Get Migration Parity', {
    params: byId,
    data: Parity,
    errors: [404],
    answer: async ({ params: { runId } }, { state }) =>
      (await state.documents.get<ParityRecord>(PARITIES, runId))?.body ?? missing('parity', runId),
  }),
  action(`POST ${PATH}/{runId}/parity`, 'Record Migration Parity', {
    description: 'Records the parity of a run. Record its manifest first.',
    params: byId,
    body: { ...jsonBody(Type.Object({ parity: Parity })), ...LARGE },
    data: Parity,
    errors: [400, 409, 413],
    async answer({ params: { runId }, body: { parity }, principal }, { state }) {
      requireRunId(runId);
      requireParity(parity);
      const by = formatActor(principal);
      await state.documents.together([RECORDS, runId], async (store) => {
        if (!(await store.get(RECORDS, runId)))
          throw new ApiError('conflict', 'The run has no manifest. Record it first.');
        await store.put(PARITIES, runId, parity, by);
        await store.merge(RECORDS, runId, { status: parity.classification, hasParity: true }, by);
      });
      return parity;
    },
  }),
  report('POST /import/toolbox/translation/validate', 'Validate a Translated Toolbox Manifest', {
    description: 'Says of each tool whether a process of this server does its work.',
    body: { ...jsonBody(ToolboxBody), ...LARGE },
    data: ToolboxReport,
    errors: [400, 413, 415],
    async answer({ body }) {
      const tools = body.tools.map((tool) => classify(tool, PROCESS_DESCRIPTIONS));
      const countArtifacts = (wanted: Classification) =>
        tools.filter(({ classification }) => classification === wanted).length;
      return {
        artifactKind: 'svc.migration.toolbox-translation-report',
        artifactVersion: '1.0',
        toolboxName: body.toolboxName,
        sourceFormat: body.sourceFormat,
        summary: {
          toolCount: tools.length,
          translatedCount: countArtifacts('translated'),
          partiallyTranslatedCount: countArtifacts('partially-translated'),
          unsupportedCount: countArtifacts('unsupported'),
        },
        tools,
      };
    },
  }),
]);

function missing(what: string, runId: string): never {
  throw notFound(what, runId.slice(0, 128));
}

function requireRunId(runId: string): void {
  if (runId.length > RUN_ID.maxLength || !new RegExp(RUN_ID.pattern).test(runId))
    throw badParameter(
      'runId',
      `must be 1 to ${RUN_ID.maxLength} letters, digits, dots, underscores, colons and hyphens`,
    );
}

function readRecord(runId: string, body: Static<typeof ManifestBody>, by: string): Item {
  return {
    runId,
    sourceUrl: body.sourceUrl,
    sourceDisplayName: body.sourceDisplayName ?? null,
    sourceVersion: body.sourceVersion ?? null,
    actor: body.actor ?? by,
    createdAt: body.createdAt ?? timestamp(Date.now()),
    status: 'manifest-only',
    hasParity: false,
    targetResourceCount: body.manifest.targetResources.length,
  };
}

function requireManifest({ summary, ...lists }: ManifestRecord): void {
  const counted = [
    ['targetResourceCount', lists.targetResources],
    ['styleActionCount', lists.styleActions],
    ['manualReviewCount', lists.manualReviewItems],
    ['unsupportedCount', lists.unsupportedItems],
  ] as const;
  requireSound(
    counted.map(([member, list]) =>
      list === undefined || list.length === summary[member]
        ? undefined
        : problem(`manifest/summary/${member}`, `must be the number of items, ${list.length}`),
    ),
  );
}

/** The result of a migration is that of its worst resource. */
function requireParity({ classification, resourceProbes }: ParityRecord): void {
  const rank = (one: string) => ['pass', 'warn', 'fail'].indexOf(one);
  const worst = resourceProbes.find((probe) => rank(probe.classification) > rank(classification));
  requireSound([
    worst &&
      problem(
        'parity/classification',
        `cannot be ${classification}, because a resource is ${worst.classification}`,
      ),
  ]);
}
