import Type, { type Static } from 'typebox';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { buildSubmitter } from '../../../services/access/identity/submitter.js';
import { IMPORT_FORMATS } from '../../../services/exchange/import-formats.js';
import { fetchFile } from '../../../services/uploads/remote-file.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { requireReplaceable } from '../../admin/layer-rights.js';
import { parseUploadForm, UploadFormSchema } from '../../admin/upload-form.js';
import { IMPORT_RESPONSES, importUpload } from './import-form.js';
import { importRasterRows } from './import-raster.js';
import { importTilePackage } from './import-tiles.js';
import { PreviewSchema, previewReceived } from './upload-views.js';

const SERVICES = ['access', 'catalog', 'imports', 'jobs', 'pools', 'uploads', 'visible'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const SourceUrl = Type.String({
  minLength: 1,
  maxLength: LIMITS.urlBytes,
  description: 'A file of a host that remote.allow names. Redirections are not followed.',
});
const FileName = Type.Optional(
  Type.String({ maxLength: 255, description: 'Format of the file if the URL does not show it.' }),
);

const upload = UploadFormSchema.properties;

const PreviewUrlBody = Type.Object({ sourceUrl: SourceUrl, fileName: FileName });
const UploadUrlBody = Type.Object({
  sourceUrl: SourceUrl,
  tableName: upload.TableName,
  fileName: FileName,
  targetSchema: upload.TargetSchema,
  sourceSrid: upload.SourceSrid,
  targetSrid: upload.TargetSrid,
  overwriteExisting: upload.OverwriteExisting,
  mode: upload.Mode,
  keyField: upload.KeyField,
  rejectRows: upload.RejectRows,
  forceBackground: upload.ForceBackground,
  trackProgress: upload.TrackProgress,
  uploadId: Type.Optional(S),
});

const EXTENSIONS: ReadonlySet<string> = new Set(Object.keys(IMPORT_FORMATS));

/** Import of remote files, rasters and tile packages. */
export const importFiles = group(
  { tag: 'Import', scope: 'import-files', envelope: 'raw', isForTenants: true },
  [
    action('POST /import/preview-url', 'Preview a Geospatial File from a URL', {
      description: 'Reads the file without publishing or storing it.',
      body: jsonBody(PreviewUrlBody),
      data: PreviewSchema,
      errors: [400, 413, 422, 503],
      answer: (x, deps) =>
        previewReceived(x, deps, () =>
          fetchFile(readFile(x.body, EXCHANGE_LIMITS.previewBytes, deps), deps.pools, x),
        ),
    }),
    action('POST /import/upload-url', 'Import a Geospatial File from a URL', {
      description: 'The file is downloaded, then imported as one that is uploaded.',
      body: jsonBody(UploadUrlBody),
      responses: { ...IMPORT_RESPONSES, ...errorDocs([400, 409, 413, 422, 500, 503]) },
      reply: uploadUrl,
    }),
    ...importRasterRows,
    importTilePackage,
  ],
);

function readFile({ sourceUrl, fileName }: Static<typeof PreviewUrlBody>, maxBytes: number, deps: Deps) {
  return { url: sourceUrl, fileName, directory: deps.imports.uploads, maxBytes, extensions: EXTENSIONS };
}

type UrlExchange = Exchange<Record<never, never>, Static<typeof UploadUrlBody>>;

async function uploadUrl(x: UrlExchange, deps: Deps): Promise<Reply> {
  // Errors in the request are reported before the other server is contacted.
  const form = parseUploadForm(collectFields(x.body));
  if (form.overwriteExisting) requireReplaceable([form.tableName], x.principal, deps);
  const watch = deps.uploads.open(0, buildSubmitter(x.principal));
  try {
    if (x.body.uploadId !== undefined) watch.field('uploadid', x.body.uploadId);
    watch.file(x.body.fileName ?? x.body.sourceUrl.split('/').at(-1)!, undefined);
    const options = {
      signal: AbortSignal.any([x.signal, watch.signal]),
      onBytes: (bytes: number) => watch.arrived(bytes),
    };
    const file = await fetchFile(readFile(x.body, LIMITS.uploadBytes, deps), deps.pools, options);
    return await importUpload(x, deps, { file, watch, formOf: () => form });
  } catch (error) {
    const reason = watch.signal.aborted ? watch.signal.reason : error;
    watch.fail(reason);
    throw reason;
  }
}

/** The members as fields of the form that uploads a file. */
function collectFields(body: object): Map<string, string> {
  return new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), String(value)]));
}
