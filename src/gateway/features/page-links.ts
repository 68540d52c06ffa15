import type { PageKey } from '../../core/features/features.js';
import { linkType } from '../../core/http/media.js';
import type { Exchange } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { formatLinks, type Link, withQuery } from '../surface/common.js';
import { writeToken } from '../surface/page-token.js';

import { ITEM_FORMATS } from './formats.js';
import type { FirstPagePart } from './items.js';

/** Parameters for the position of a page. Links keep all other parameters. */
const PLACE = /^(offset|limit|token|f)=/;

/** Links of a page that ends with `last`; `more` features follow. */
export function pageLinks(
  x: Exchange,
  page: FirstPagePart,
  last: PageKey | undefined,
  more: boolean,
): Link[] {
  const { collection } = page.view;
  const path = `${FEATURES_PATH}/collections/${collection.id}/items`;
  const { query } = x;
  const links = formatLinks(x, path, ITEM_FORMATS, query);
  const parameters = query.split('&').filter((part) => part !== '' && !PLACE.test(part));
  const to = (place: string) => ({
    href: withQuery(
      `${x.baseUrl}${path}`,
      [...parameters, `limit=${page.limit}`, place].join('&'),
      x.format.name,
    ),
    type: linkType(x.format),
  });
  if (more && last) {
    const token = writeToken({ direction: 'after', key: last });
    links.push({ ...to(`token=${token}`), rel: 'next', title: 'Next page' });
  }
  const previous = placeBefore(page);
  if (previous) links.push({ ...to(previous), rel: 'prev', title: 'Previous page' });
  links.push({
    href: `${x.baseUrl}${FEATURES_PATH}/collections/${collection.id}`,
    rel: 'collection',
    type: 'application/json',
    title: collection.title,
  });
  return links;
}

function placeBefore({ precedes, after, before, offset, limit, first }: FirstPagePart): string | undefined {
  if (!precedes) return undefined;
  if (!after && !before) return `offset=${Math.max(0, offset - limit)}`;
  const key = first.first ?? after ?? before;
  return key && `token=${writeToken({ direction: 'before', key })}`;
}
