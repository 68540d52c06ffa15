import type { Exchange, Params, ParamValues } from '../../../core/http/operation.js';
import type { SelectionExport } from '../../../services/exchange/exports/plan.js';
import { crsParam } from '../../surface/crs-params.js';
import { otherParameters } from '../items.js';
import { itemsParams } from '../params.js';

const { collectionId, bbox, bboxCrs, datetime, filter, filterLang, filterCrs, ids, properties, csvFormulas } =
  itemsParams;

/** Parameters that select features, as for items. */
export const selectionParams = {
  collectionId,
  bbox,
  bboxCrs,
  datetime,
  filter,
  filterLang,
  filterCrs,
  ids,
} satisfies Params;

/** Parameters of an export. */
export const exportParams = {
  ...selectionParams,
  properties,
  csvFormulas,
  crs: crsParam(
    'crs',
    'CRS of the coordinates, which have the order x,y. Default: CRS84 for GeoJSON and CSV, the CRS of the data for other formats.',
  ),
};

type SelectionValues = Omit<ParamValues<typeof selectionParams>, 'collectionId'>;

/** The features that the parameters of a request select. */
export function readSelection(x: Exchange, params: SelectionValues): SelectionExport['selection'] {
  const { bbox, bboxCrs, datetime, filter, filterLang, filterCrs, ids } = params;
  return { bbox, bboxCrs, datetime, filter, filterLang, filterCrs, ids, others: otherParameters(x) };
}

/** Parameters of an export, from those of a request. */
export function readExport(
  x: Exchange,
  params: Omit<ParamValues<typeof exportParams>, 'collectionId'>,
): Omit<SelectionExport, 'format'> {
  const { properties, crs, csvFormulas } = params;
  return {
    selection: readSelection(x, params),
    ...(properties ? { properties } : {}),
    ...(crs ? { crs } : {}),
    ...(csvFormulas ? { guardsFormulas: true } : {}),
  };
}
