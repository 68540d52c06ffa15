import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type AttachmentForm, withForm } from '../../../services/attachments/form.js';
import type { Attachments, FeatureAddress } from '../../../services/attachments/service.js';
import { common, documentFormat, FORM_TYPES, f, SERVER } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { createErrorReply, jsonReply } from '../images/in-band.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { type Members, objectId, readIntegerMember, readIntegersMember, wholeNumber } from '../members.js';
import { postFormOperation } from '../post-forms.js';
import { contentReply, downloadFailure } from './attachment-content.js';
import { attachmentGroups, attachmentInfo, editResult } from './attachment-documents.js';
import { attachmentSearch, readKeywords } from './attachment-requests.js';

export interface AttachmentSurface {
  readonly attachments: Attachments;
  /** Folder of files that are being received. */
  readonly uploads: string;
}

const LAYER = `/rest/services/{serviceId}/${SERVER}/{layerId}`;
const FEATURE = `${LAYER}/{objectId}`;

const layerParams = {
  serviceId: pathString('serviceId', 'Name of a service.'),
  layerId: pathString('layerId', 'Number of a layer.'),
};
const featureParams = { ...layerParams, objectId: pathString('objectId', 'Object id of a feature.') };

const about = (verb: string) => common('Attachments', verb);

/** Files of features, as clients of GeoServices list, get and change them. */
export function attachmentOperations(surface: AttachmentSurface): Operation[] {
  return [
    ...readingOperations(surface),
    ...queryOperations(surface),
    ...writingOperations(surface),
    ...formOperations(surface),
  ];
}

type LayerPath = { readonly serviceId: string; readonly layerId: string };
type FeaturePath = LayerPath & { readonly objectId: string };

function readLayer({ serviceId: service, layerId }: LayerPath) {
  return { service, layerId: wholeNumber('layerId', layerId) };
}

function readAddress(path: FeaturePath): FeatureAddress {
  return { ...readLayer(path), objectId: objectId('objectId', path.objectId) };
}

function readingOperations({ attachments }: AttachmentSurface): Operation[] {
  return [
    defineOperation({
      ...about('attachments'),
      id: 'geoservices.attachments',
      method: 'GET',
      path: `${FEATURE}/attachments`,
      summary: 'Attachments of a feature',
      params: { ...featureParams, f },
      async run(x) {
        const format = documentFormat(x.params);
        const list = await attachments.list(x, readAddress(x.params));
        return jsonReply({ attachmentInfos: list.map((one) => attachmentInfo(one)) }, format);
      },
    }),
    defineOperation({
      ...about('attachment'),
      id: 'geoservices.attachment',
      method: 'GET',
      path: `${FEATURE}/attachments/{attachmentId}`,
      summary: 'Bytes of an attachment',
      description: 'All of them, or one range.',
      params: { ...featureParams, attachmentId: pathString('attachmentId', 'Id of an attachment.') },
      failure: downloadFailure(createErrorReply(SERVER, 'attachment')),
      async run(x) {
        const id = wholeNumber('attachmentId', x.params.attachmentId);
        const content = await attachments.content(x, readAddress(x.params), id);
        return contentReply(x, content, (start, length) => attachments.read(content, start, length));
      },
    }),
  ];
}

const queryParams = {
  objectIds: member('objectIds', 'Only attachments of these features.'),
  definitionExpression: member('definitionExpression', 'SQL condition on the features.'),
  attachmentTypes: member('attachmentTypes', 'Media types, separated by commas.'),
  keywords: member('keywords', 'Only attachments with one of these keywords, separated by commas.'),
  size: member('size', 'Minimum and maximum size in bytes: 1000,20000.'),
  returnUrl: member('returnUrl', 'Return the URL of each attachment. Default: false.'),
  returnCountOnly: member(
    'returnCountOnly',
    'Return only the number of attachments of each feature. Default: false.',
  ),
  resultOffset: member('resultOffset', 'Number of attachments to skip.'),
  resultRecordCount: member('resultRecordCount', `At most ${GEOSERVICES_LIMITS.attachmentsListed}.`),
};

function queryOperations({ attachments }: AttachmentSurface): Operation[] {
  const query = async (x: Exchange, path: LayerPath, members: Members): Promise<Reply> => {
    const format = documentFormat(members);
    const layer = readLayer(path);
    const { search, ...wants } = attachmentSearch(members);
    const result = await attachments.search(x, layer, search);
    const url = `${x.baseUrl}/rest/services/${encodeURIComponent(layer.service)}/${SERVER}/${layer.layerId}`;
    return jsonReply(attachmentGroups(result, { ...wants, url }), format);
  };
  const attachmentQuery = {
    ...about('queryAttachments'),
    path: `${LAYER}/queryAttachments`,
    summary: 'Attachments of the features of a layer',
  };
  return [
    defineOperation({
      ...attachmentQuery,
      id: 'geoservices.queryAttachments',
      method: 'GET',
      params: { ...layerParams, f, ...queryParams },
      run: (x) => query(x, x.params, Object.fromEntries(new URLSearchParams(x.query))),
    }),
    defineOperation({
      ...attachmentQuery,
      id: 'geoservices.postQueryAttachments',
      method: 'POST',
      params: layerParams,
      body: {
        schema: Type.Object({}),
        mediaTypes: FORM_TYPES,
        required: true,
        maxBytes: LIMITS.bodyBytes,
      },
      run: (x) => query(x, x.params, x.body as Members),
    }),
  ];
}

const MULTIPART = 'multipart/form-data';
const URLENCODED = 'application/x-www-form-urlencoded';

/** Form parsed by the handler, because it may contain a file. */
const buildForm = (...mediaTypes: string[]) => ({
  schema: Type.Object({ attachment: Type.Optional(Type.String({ format: 'binary' })) }),
  mediaTypes,
  required: true,
  maxBytes: LIMITS.attachmentBytes + LIMITS.loopBodyBytes,
  streamed: true,
});

const FILE = member('attachment', 'File.');
const KEYWORDS = member('keywords', 'Keywords, separated by commas.');

const FORMS = {
  addAttachment: { summary: 'Attach a file to a feature', fields: [FILE, KEYWORDS] },
  updateAttachment: {
    summary: 'Replace an attachment, or its keywords',
    fields: [member('attachmentId', 'Id of the attachment.'), FILE, KEYWORDS],
  },
  deleteAttachments: {
    summary: 'Delete attachments of a feature',
    fields: [member('attachmentIds', 'Ids of attachments, separated by commas.')],
  },
} as const;

function formOperations({ attachments }: AttachmentSurface): Operation[] {
  return Object.entries(FORMS).map(([verb, { summary, fields }]) =>
    postFormOperation({
      about: about(verb),
      path: `${FEATURE}/${verb}`,
      pathParams: featureParams,
      summary,
      fields,
      requireAccess: (x) => void attachments.requireEditable(x, readAddress(x.params)),
    }),
  );
}

function writingOperations({ attachments, uploads }: AttachmentSurface): Operation[] {
  const writing = { method: 'POST', audited: true, repeatable: true, params: featureParams } as const;
  const withUpload = async <T>(
    x: Exchange<typeof featureParams>,
    work: (form: AttachmentForm) => Promise<T>,
  ) => {
    // A token is a field of the form: with it the caller is known.
    const admit = async ({ token }: AttachmentForm['fields']) => {
      if (token !== undefined) await x.identify?.(token);
      attachments.requireEditable(x, readAddress(x.params));
    };
    const source = { contentType: x.header('content-type'), bytes: x.upload };
    return withForm(source, { directory: uploads, admit }, work);
  };
  return [
    defineOperation({
      ...about('addAttachment'),
      ...writing,
      id: 'geoservices.addAttachment',
      path: `${FEATURE}/addAttachment`,
      summary: 'Attach a file to a feature',
      body: buildForm(MULTIPART),
      run: (x) =>
        withUpload(x, async ({ fields, file }) => {
          const format = documentFormat(fields);
          if (!file) throw badParameter('attachment', 'is required');
          const added = await attachments.add(x, readAddress(x.params), file, readKeywords(fields) ?? '');
          return jsonReply({ addAttachmentResult: editResult(added) }, format);
        }),
    }),
    defineOperation({
      ...about('updateAttachment'),
      ...writing,
      id: 'geoservices.updateAttachment',
      path: `${FEATURE}/updateAttachment`,
      summary: 'Replace an attachment, or its keywords',
      body: buildForm(MULTIPART, URLENCODED),
      run: (x) =>
        withUpload(x, async ({ fields, file }) => {
          const format = documentFormat(fields);
          const id = readIntegerMember({ attachmentId: fields['attachmentid'] }, 'attachmentId');
          if (id === undefined) throw badParameter('attachmentId', 'is required');
          const change = { file, keywords: readKeywords(fields) };
          if (!file && change.keywords === undefined)
            throw badParameter('attachment', 'is required, or keywords');
          const changed = await attachments.change(x, readAddress(x.params), id, change);
          return jsonReply({ updateAttachmentResult: editResult(changed) }, format);
        }),
    }),
    defineOperation({
      ...about('deleteAttachments'),
      ...writing,
      id: 'geoservices.deleteAttachments',
      path: `${FEATURE}/deleteAttachments`,
      summary: 'Delete attachments of a feature',
      body: {
        schema: Type.Object({}),
        mediaTypes: FORM_TYPES,
        required: true,
        maxBytes: LIMITS.loopBodyBytes,
      },
      async run(x) {
        const members = x.body as Members;
        const format = documentFormat(members);
        const ids = readIntegersMember(members, 'attachmentIds', GEOSERVICES_LIMITS.attachmentsListed);
        if (!ids || ids.length === 0) throw badParameter('attachmentIds', 'is required');
        const there = await attachments.remove(x, readAddress(x.params), ids);
        const deleteAttachmentResults = ids.map((id) => editResult({ id }, there.has(id)));
        return jsonReply({ deleteAttachmentResults }, format);
      },
    }),
  ];
}
