import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { defineOperation, type Exchange, type Operation, type Param } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { buildCaller } from '../../../services/access/identity/submitter.js';
import { EXPORT_FORMATS, EXPORT_NAMES, type ExportName } from '../../../services/exchange/exports/formats.js';
import {
  READER_EXPORTS_PATH,
  type ReaderExports,
} from '../../../services/exchange/exports/reader-exports.js';
import { findView } from '../../../services/features/view.js';
import { recordExport } from '../../http/recorded-export.js';
import { fileReply } from '../../http/replies/file-reply.js';
import { renderExportPage, renderExportsPage } from '../../pages/features/export.js';
import { sitePath } from '../../pages/layout.js';
import {
  documentReply,
  formatLinks,
  LinkSchema,
  META_FORMATS,
  type SurfaceDeps,
} from '../../surface/common.js';
import { addExportId, readExportIds } from './cookie.js';
import { exportParams, readExport } from './params.js';
import { buildExportPath, buildStatus, ExportStatus } from './status.js';
import { EXPORT_PATH } from './stream.js';

export interface ReaderExportsDeps {
  readerExports: ReaderExports;
}

const COMMON = {
  surface: 'features',
  protocol: 'OGC-Features',
  permission: 'public',
  tag: 'Exports',
} as const;

const ExportList = Type.Object({ exports: Type.Array(ExportStatus), links: Type.Array(LinkSchema) });

const FILES = Object.fromEntries(Object.values(EXPORT_FORMATS).map(({ mediaType }) => [mediaType, null]));
const ABSENT = { 404: { description: 'No such collection, or no such export of the caller' } };

const format: Param<ExportName> = {
  name: 'f',
  in: 'query',
  description: `Format of the file: ${EXPORT_NAMES.join(', ')}.`,
  required: true,
  schema: Type.Enum([...EXPORT_NAMES]),
  parse(raw) {
    const name = EXPORT_NAMES.find((one) => one === raw?.toLowerCase());
    if (!name) throw badParameter('f', `must be one of ${EXPORT_NAMES.join(', ')}`);
    return name;
  },
};

const places = {
  collectionId: exportParams.collectionId,
  exportId: pathString('exportId', 'Id of an export job.'),
};

/** Exports as files that jobs write, for readers of a collection. */
export function exportJobOperations(deps: SurfaceDeps & ReaderExportsDeps): Operation[] {
  const { readerExports } = deps;
  const view = (x: Exchange<{ collectionId: typeof places.collectionId }>) =>
    findView(deps, x.principal, x.params.collectionId);
  return [
    defineOperation({
      ...COMMON,
      method: 'GET',
      id: 'features.listExports',
      path: READER_EXPORTS_PATH,
      summary: 'List own export jobs',
      description:
        'Returns the export jobs of the caller that run or have a file, newest first. Without a sign-in, these are the jobs that the same browser started.',
      formats: META_FORMATS,
      responses: {
        200: { description: 'Export jobs', content: { 'application/json': ExportList, 'text/html': null } },
      },
      async run(x) {
        const isAnonymous = x.principal.kind === 'anonymous';
        const ids = isAnonymous ? readExportIds(x.header('cookie')) : undefined;
        const exports = await readerExports.list(x.principal, ids);
        const snapshot = deps.visible(x.principal);
        const collections = exports.map(({ collection }) => snapshot.byId(collection));
        const statuses = exports.map((one, i) =>
          buildStatus(x, { id: one.collection, title: collections[i]?.title ?? one.collection }, one),
        );
        const links = formatLinks(x, READER_EXPORTS_PATH, META_FORMATS, x.query);
        const titles = new Map(collections.flatMap((one) => (one ? [[one.id, one.title] as const] : [])));
        const reply = documentReply(x, { exports: statuses, links }, () =>
          renderExportsPage(x, statuses, titles, links),
        );
        return { ...reply, cacheControl: 'no-store' };
      },
    }),
    defineOperation({
      ...COMMON,
      method: 'POST',
      id: 'features.startExport',
      path: EXPORT_PATH,
      summary: 'Start an export job',
      description: `Starts a job that writes all selected features to a file. Browsers are redirected to the page of the job. The server keeps the file for ${EXCHANGE_LIMITS.readerFileMs / 3_600_000} hours. Only the caller who started the job can download it.`,
      params: { ...exportParams, format },
      openQuery: true,
      audited: true,
      responses: {
        201: { description: 'The job', content: { 'application/json': ExportStatus } },
        303: { description: 'The client accepts HTML' },
        400: { description: 'A parameter is wrong' },
        404: { description: 'No such collection' },
        429: { description: 'The caller has too many exports' },
        503: { description: 'The server has too many exports' },
        507: { description: 'The disk of the server is full' },
      },
      async run(x) {
        const own = view(x);
        const request = { format: x.params.format, ...readExport(x, x.params) };
        const job = await readerExports.submit(own, request, x, {
          ...buildCaller(x.principal, x.operation),
          correlationId: x.correlationId,
        });
        const path = buildExportPath(own.visible, job.id);
        if (x.header('accept')?.includes('text/html')) {
          // A path also works behind a proxy that ends TLS without saying so.
          const page = `${sitePath(x.baseUrl)}${path}?f=html`;
          const isAnonymous = x.principal.kind === 'anonymous';
          const cookie = isAnonymous && addExportId(x.baseUrl, x.header('cookie'), job.id);
          const headers = { location: page, ...(cookie && { 'set-cookie': cookie }) };
          return { status: 303, headers, cacheControl: 'no-store' };
        }
        const found = await readerExports.find(own.visible.id, job.id, x.principal);
        return {
          status: 201,
          mediaType: 'application/json',
          headers: { location: `${x.baseUrl}${path}` },
          cacheControl: 'no-store',
          body: JSON.stringify(buildStatus(x, own.visible, found)),
        };
      },
    }),
    defineOperation({
      ...COMMON,
      method: 'GET',
      id: 'features.getExport',
      path: `${EXPORT_PATH}/{exportId}`,
      summary: 'Status of an export job',
      params: places,
      formats: META_FORMATS,
      responses: {
        200: { description: 'Status', content: { 'application/json': ExportStatus, 'text/html': null } },
        ...ABSENT,
      },
      async run(x) {
        const { visible } = view(x);
        const status = buildStatus(
          x,
          visible,
          await readerExports.find(visible.id, x.params.exportId, x.principal),
        );
        const reply = documentReply(x, status, () => renderExportPage(x, visible, status));
        return { ...reply, cacheControl: 'no-store' };
      },
    }),
    defineOperation({
      ...COMMON,
      method: 'DELETE',
      id: 'features.deleteExport',
      path: `${EXPORT_PATH}/{exportId}`,
      summary: 'Cancel an export job, or delete its file',
      audited: true,
      params: places,
      responses: { 200: { description: 'Status', content: { 'application/json': ExportStatus } }, ...ABSENT },
      async run(x) {
        const { visible } = view(x);
        const found = await readerExports.remove(visible.id, x.params.exportId, x.principal);
        const body = JSON.stringify(buildStatus(x, visible, found));
        return { status: 200, mediaType: 'application/json', cacheControl: 'no-store', body };
      },
    }),
    defineOperation({
      ...COMMON,
      method: 'GET',
      id: 'features.getExportFile',
      entityTag: 'none',
      path: `${EXPORT_PATH}/{exportId}/file`,
      ...{ audited: true, exports: true },
      summary: 'Download the file of an export job',
      params: places,
      responses: {
        200: { description: 'The file', content: FILES },
        206: { description: 'A range of the file', content: FILES },
        ...ABSENT,
        409: { description: 'The job has not ended' },
        410: { description: 'The file has expired, or the rights of the caller have changed' },
      },
      async run(x) {
        const { path, mediaType } = await readerExports.file(view(x), x.params.exportId, x.principal);
        recordExport(x, { format: mediaType, filter: { job: x.params.exportId }, count: 1 });
        return { ...(await fileReply(x, { path, mediaType })), cacheControl: 'no-store' };
      },
    }),
  ];
}
