import { group, report, setting } from '../kit.js';

/** Pop-ups, drawing, relationships, fields and filters of layers. */
export const layerMetadata = group(
  { tag: 'Metadata and capabilities', scope: 'layer-metadata', envelope: 'wrapped' },
  [
    ...setting('/metadata/layers/{layerId}/popup-info', {
      get: 'Get Layer Popup Info',
      set: 'Set Layer Popup Info',
    }),
    ...setting('/metadata/layers/{layerId}/drawing-info', {
      get: 'Get Layer Drawing Info',
      set: 'Set Layer Drawing Info',
    }),
    ...setting('/metadata/layers/{layerId}/relationships', {
      get: 'Get Layer Relationships',
      set: 'Set Layer Relationships',
    }),
    ...setting('/metadata/layers/{layerId}/fields', {
      get: 'Get Layer Field Configuration',
      set: 'Update Layer Field Configuration',
    }),
    ...setting('/metadata/layers/{layerId}/filter', {
      get: 'Get Layer Permanent Filter',
      set: 'Update Layer Permanent Filter',
    }),
    report('GET /metadata/layers/{layerId}/validation', 'Validate Layer Metadata'),
  ],
);
