import { exactInteger } from '../../../core/values/exact-number.js';
import type { Attachment } from '../../../stores/attachments/attachments.js';

/** Attachments in GeoServices documents. */

export interface AttachmentInfo {
  id: number;
  globalId: string;
  name: string;
  contentType: string;
  size: number;
  keywords: string;
  url?: string;
}

export function attachmentInfo(
  { id, globalId, name, mediaType, size, keywords, featureId }: Attachment,
  url?: string,
): AttachmentInfo {
  return {
    id,
    globalId,
    name,
    contentType: mediaType,
    size,
    keywords,
    ...(url === undefined ? {} : { url: `${url}/${featureId}/attachments/${id}` }),
  };
}

export interface GroupWants {
  /** URL of the layer. */
  readonly url: string;
  readonly returnUrl: boolean;
  readonly countOnly: boolean;
}

export function attachmentGroups(
  { attachments, more }: { attachments: readonly Attachment[]; more: boolean },
  { url, returnUrl, countOnly }: GroupWants,
) {
  const groups = new Map<string, Attachment[]>();
  for (const one of attachments) {
    const group = groups.get(one.featureId);
    if (group) group.push(one);
    else groups.set(one.featureId, [one]);
  }
  return {
    attachmentGroups: [...groups].map(([featureId, list]) => ({
      parentObjectId: exactInteger(featureId),
      // Features have no global ids; clients read the member all the same.
      parentGlobalId: '',
      ...(countOnly
        ? { count: list.length }
        : { attachmentInfos: list.map((one) => attachmentInfo(one, returnUrl ? url : undefined)) }),
    })),
    ...(more ? { exceededTransferLimit: true } : {}),
  };
}

const NOT_FOUND = 1019;

export function editResult(
  { id, globalId }: Pick<Attachment, 'id'> & Partial<Pick<Attachment, 'globalId'>>,
  success = true,
) {
  return {
    objectId: id,
    globalId: globalId ?? null,
    success,
    ...(success
      ? {}
      : { error: { code: NOT_FOUND, description: `attachmentIds: attachment ${id} does not exist.` } }),
  };
}
