import Type, { type Static } from 'typebox';
import { BundleSchema, CLASSIFICATIONS } from '../../../core/diagnostics/bundle.js';
import { BUNDLE_LIMITS } from '../../../core/diagnostics/limits.js';
import { notFound } from '../../../core/errors/errors.js';
import { formatActor } from '../../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { DiagnosticBundles, StoredBundle } from '../../../services/diagnostics/bundles.js';
import { entityTag } from '../../admin/entity-tags.js';
import { errorDocs, OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { cursor, encodeCursor, enumeration } from '../../admin/params.js';
import { recordExport } from '../../http/recorded-export.js';

const { action, report } = createRowBuilders(['bundles']);

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const ClassificationSchema = Type.Enum([...CLASSIFICATIONS]);
const CURSOR = 'diagnostic-bundles';

const SummarySchema = Type.Object({
  bundleId: Type.String({ description: 'Id that the server assigned.' }),
  clientBundleId: OptionalStringSchema,
  receivedAt: TimestampSchema,
  receivedBy: S,
  expiresAt: TimestampSchema,
  digest: Type.String({ description: 'SHA-256 of the received bytes, in hexadecimal.' }),
  contentClassification: ClassificationSchema,
  declaredClassification: ClassificationSchema,
  envelopeCount: I,
  redacted: Type.Boolean({ description: 'Whether the server found a secret and replaced it.' }),
  removedSecrets: Type.Array(Type.Object({ member: S, kind: S })),
  encrypted: Type.Boolean({ description: 'Whether the state has the bundle encrypted.' }),
  shareWithSupport: B,
  correlationIds: Type.Array(S, { description: 'Requests of the bundle, for the log and the audit trail.' }),
});
type Summary = Static<typeof SummarySchema>;

const DocumentSchema = Type.Object({
  ...SummarySchema.properties,
  ...{ schemaVersion: S, consent: BundleSchema.properties.consent },
  envelopes: BundleSchema.properties.envelopes,
});

const byId = { bundleId: pathString('bundleId', 'Id that the server assigned to the bundle.', 64) };

/** Diagnostic bundles that clients submit for support. */
export const diagnosticBundles = group({ tag: 'Diagnostics', scope: 'diagnostics', envelope: 'raw' }, [
  action('POST /diagnostics/bundles', 'Submit Diagnostic Bundle', {
    description:
      'Validates a bundle of the schema version 1.0. The server replaces secrets that it finds by their kinds.',
    body: {
      schema: BundleSchema,
      mediaTypes: ['application/json'],
      required: true,
      form: 'parts',
      maxBytes: BUNDLE_LIMITS.bundleBytes,
    },
    data: SummarySchema,
    status: 201,
    errors: [400, 409, 413, 503],
    location: ({ bundleId }: Summary) => `/diagnostics/bundles/${bundleId}`,
    async answer({ body, principal, signal, caller }, { bundles }) {
      const parts = body as unknown as Uint8Array<ArrayBuffer>[];
      const options = { deadlineMs: LIMITS.requestDeadlineMs, signal, caller };
      return summaryView(await bundles.add(parts, formatActor(principal), options));
    },
  }),
  report('GET /diagnostics/bundles', 'List Diagnostic Bundles', {
    description: 'Newest first.',
    params: {
      contentClassification: enumeration(
        'contentClassification',
        CLASSIFICATIONS,
        'Only bundles of this classification.',
      ),
      pageSize: defineIntegerParam(
        'pageSize',
        { min: 1, max: 500, default: 50 as number },
        { description: 'Maximum number of bundles in the response.' },
      ),
      cursor: cursor(CURSOR),
    },
    data: Type.Object({ items: Type.Array(SummarySchema), nextCursor: Type.Optional(S) }),
    errors: [400],
    async answer({ params: { contentClassification, pageSize, cursor: position } }, { bundles }) {
      const found = await bundles.list({
        classification: contentClassification,
        ...(position ? { before: { receivedAt: Number(position[0]), id: String(position[1]) } } : {}),
        limit: pageSize + 1,
      });
      const page = found.slice(0, pageSize);
      const last = found.length > page.length ? page.at(-1) : undefined;
      return {
        items: page.map(summaryView),
        ...(last ? { nextCursor: encodeCursor(CURSOR, [last.receivedAt, last.id]) } : {}),
      };
    },
  }),
  report('GET /diagnostics/bundles/{bundleId}', 'Get Diagnostic Bundle', {
    description: 'The bundle with its envelopes. The audit trail records it as an export.',
    params: byId,
    exports: true,
    responses: {
      200: { description: 'The bundle.', content: { 'application/json': DocumentSchema } },
      ...errorDocs([404]),
    },
    async reply(x, { bundles }) {
      const bundle = await requireBundle(x.params.bundleId, bundles);
      const etag = entityTag(summaryView(bundle));
      recordExport(x, { format: 'json', filter: { bundle: bundle.id }, count: bundle.envelopeCount });
      return {
        ...{ status: 200, mediaType: 'application/json', cacheControl: 'no-store' },
        ...(etag === undefined ? {} : { etag }),
        body: writeDocument(bundle, bundles),
      };
    },
  }),
  action('DELETE /diagnostics/bundles/{bundleId}', 'Delete Diagnostic Bundle', {
    params: byId,
    current: async ({ params }, { bundles }) => summaryView(await requireBundle(params.bundleId, bundles)),
    data: Type.Null(),
    status: 204,
    errors: [404],
    async answer({ params: { bundleId } }, { bundles }) {
      if (!(await bundles.remove(bundleId))) throw missing(bundleId);
    },
  }),
]);

const missing = (id: string) => notFound('diagnostic bundle', id);

async function requireBundle(id: string, bundles: DiagnosticBundles): Promise<StoredBundle> {
  const bundle = await bundles.get(id);
  if (!bundle) throw missing(id);
  return bundle;
}

function summaryView(bundle: StoredBundle): Summary {
  return {
    bundleId: bundle.id,
    clientBundleId: bundle.clientBundleId,
    receivedAt: timestamp(bundle.receivedAt),
    receivedBy: bundle.receivedBy,
    expiresAt: timestamp(bundle.expiresAt),
    digest: bundle.digest,
    contentClassification: bundle.classification,
    declaredClassification: bundle.declared,
    envelopeCount: bundle.envelopeCount,
    redacted: bundle.removed.length > 0,
    removedSecrets: bundle.removed.map(({ pointer, kind }) => ({ member: pointer, kind })),
    encrypted: bundle.isEncrypted,
    shareWithSupport: bundle.consent.shareWithSupport,
    correlationIds: [...bundle.correlationIds],
  };
}

/** One envelope is in memory at a time. */
async function* writeDocument(bundle: StoredBundle, bundles: DiagnosticBundles): AsyncGenerator<Uint8Array> {
  const head = JSON.stringify({ schemaVersion: '1.0', ...summaryView(bundle), consent: bundle.consent });
  let start = `${head.slice(0, -1)},"envelopes":[`;
  for await (const envelope of bundles.envelopes(bundle)) {
    yield Buffer.from(start + envelope);
    start = ',';
  }
  yield Buffer.from(']}');
}
