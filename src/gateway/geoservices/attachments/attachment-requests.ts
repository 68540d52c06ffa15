import { plainFields } from '../../../core/access/field-masks.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import { defaultCrs } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { AttachmentSearch } from '../../../services/attachments/service.js';
import { geoServicesFilter } from '../../../services/geoservices/filter.js';
import type { Attachment } from '../../../stores/attachments/attachments.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  readFlagMember,
  readIntegerMember,
  readObjectIdsMember,
  readTextMember,
} from '../members.js';

/** Parameters of requests for attachments. */

/** Unsupported parameters, which are refused: without them the response would have another meaning. */
const UNBUILT = ['globalIds', 'attachmentsDefinitionExpression', 'attachmentsWhere', 'orderByFields'];
const WORDS = 4096;

export function attachmentSearch(members: Members): {
  search: AttachmentSearch;
  returnUrl: boolean;
  countOnly: boolean;
} {
  for (const name of UNBUILT)
    if (readTextMember(members, name, LIMITS.urlBytes) !== undefined)
      throw badParameter(name, 'is not supported');
  const most = readIntegerMember(members, 'resultRecordCount') ?? GEOSERVICES_LIMITS.attachmentsListed;
  if (most < 1) throw badParameter('resultRecordCount', 'must be an integer of at least 1');
  const offset = readIntegerMember(members, 'resultOffset') ?? 0;
  if (offset > GEOSERVICES_LIMITS.attachmentOffset)
    throw badParameter('resultOffset', `must be at most ${GEOSERVICES_LIMITS.attachmentOffset}`);
  return {
    search: {
      objectIds: readObjectIdsMember(members, 'objectIds', GEOSERVICES_LIMITS.attachmentsListed),
      filter: readFilter(members),
      fits: fitting(members),
      offset,
      limit: Math.min(most, GEOSERVICES_LIMITS.attachmentsListed),
    },
    returnUrl: readFlagMember(members, 'returnUrl', false),
    countOnly: readFlagMember(members, 'returnCountOnly', false),
  };
}

function readFilter(members: Members): AttachmentSearch['filter'] {
  const where = readTextMember(members, 'definitionExpression', LIMITS.geoServicesWhere);
  if (where === undefined) return undefined;
  return ({ visible }) => {
    const { source, storageCrs } = visible;
    const schema = { ...source, fields: plainFields(source.fields), filterCrs: defaultCrs(visible) };
    try {
      return geoServicesFilter({ where }, schema, storageCrs);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw badParameter('definitionExpression', error.errors?.[0]?.detail ?? 'must be a condition');
    }
  };
}

function fitting(members: Members): (attachment: Attachment) => boolean {
  const types = readWords(members, 'attachmentTypes');
  const keywords = readWords(members, 'keywords');
  const [least, greatest] = parseSizes(members);
  return (attachment) =>
    (types === undefined || types.includes(attachment.mediaType.toLowerCase())) &&
    (keywords === undefined || keywordsIn(attachment).some((word) => keywords.includes(word))) &&
    attachment.size >= least &&
    attachment.size <= greatest;
}

const split = (text: string) =>
  text
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '');

const keywordsIn = ({ keywords }: Attachment) => split(keywords);

function readWords(members: Members, name: string): string[] | undefined {
  const text = readTextMember(members, name, WORDS);
  return text === undefined ? undefined : split(text);
}

function parseSizes(members: Members): [least: number, greatest: number] {
  const text = readTextMember(members, 'size', 40);
  const [, least, greatest] = /^\s*(\d+)\s*(?:,\s*(\d+)\s*)?$/.exec(text ?? '0') ?? [];
  if (least === undefined) throw badParameter('size', 'must be one or two integers');
  return [Number(least), greatest === undefined ? Number.POSITIVE_INFINITY : Number(greatest)];
}

/** Undefined if the request has no keywords. */
export function readKeywords(fields: Members): string | undefined {
  const { keywords } = fields;
  if (typeof keywords !== 'string') return undefined;
  if (keywords.length > LIMITS.attachmentKeywords)
    throw badParameter('keywords', `must have at most ${LIMITS.attachmentKeywords} characters`);
  return keywords;
}
