import type { GeoServicesAttachment, GeoServicesAttachmentsTask } from '../../../core/exchange/ingest.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { askLayer } from './geoservices-features.js';
import type { RemoteAccess } from './http.js';
import { bigInteger, isObject, listJsonObjects, type RemoteJson, readJsonInteger, string } from './json.js';

/** Characters of a name, a media type or keywords that are read. */
const WORDS = 1024;

/** Task `ingest.geoservicesAttachments`: returns the server's list of the attachments of some features. */
export async function listAttachments(
  task: GeoServicesAttachmentsTask,
  asking: RemoteAccess,
): Promise<GeoServicesAttachment[]> {
  const pending = new Set(task.objectIds);
  const most = LIMITS.featureAttachments * 10 * pending.size;
  const byKey = new Map<string, GeoServicesAttachment>();
  for (;;) {
    const page = await askLayer(task, '/queryAttachments', buildForm(task, byKey.size), asking, [
      'parentObjectId',
    ]);
    const list = readAttachments(page, pending);
    for (const one of list) {
      const key = `${one.objectId} ${one.id}`;
      if (byKey.has(key))
        throw refused(`it lists the attachment ${one.id} of the feature ${one.objectId} twice`);
      byKey.set(key, one);
    }
    if (byKey.size > most) throw refused('it lists more attachments than features can have');
    if (page['exceededTransferLimit'] !== true || list.length === 0) return [...byKey.values()];
  }
}

function buildForm({ objectIds }: GeoServicesAttachmentsTask, offset: number): Record<string, string> {
  return {
    objectIds: objectIds.join(','),
    ...(offset > 0 ? { resultOffset: String(offset) } : {}),
  };
}

function readAttachments(page: RemoteJson, objectIds: ReadonlySet<string>): GeoServicesAttachment[] {
  const groups = page['attachmentGroups'];
  if (!Array.isArray(groups)) throw refused('it does not list attachments');
  return groups.filter(isObject).flatMap((group) => {
    const objectId = bigInteger(group['parentObjectId'])?.toString();
    if (objectId === undefined || !objectIds.has(objectId))
      throw refused('it lists attachments of a feature that was not requested');
    return listJsonObjects(group['attachmentInfos']).map((info) => readAttachment(objectId, info));
  });
}

function readAttachment(objectId: string, info: RemoteJson): GeoServicesAttachment {
  const id = readJsonInteger(info['id']);
  if (id === undefined || id < 0)
    throw refused(`it lists an attachment of the feature ${objectId} without an id`);
  return {
    objectId,
    id,
    name: (string(info['name']) ?? `attachment ${id}`).slice(0, WORDS),
    mediaType: string(info['contentType'])?.slice(0, WORDS),
    size: readJsonInteger(info['size']),
    keywords: (string(info['keywords']) ?? '').slice(0, LIMITS.attachmentKeywords),
  };
}
