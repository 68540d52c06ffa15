import Type from 'typebox';
import { resolveCrs } from '../../../native/crs.js';
import { EXPORT_NAMES } from '../../exchange/exports/formats.js';
import type { ProcessDefinition } from '../definition.js';
import { featuresInput, fileOutput, makeOptional } from './parts.js';

/** The formats of exports of layers. */
export const featureExport: ProcessDefinition = {
  id: 'conversion.feature-export',
  title: 'Export features',
  description: 'Writes the features to a file.',
  keywords: ['vector', 'export'],
  inputs: {
    features: featuresInput('Features', 'The features to write.'),
    format: {
      title: 'Format',
      description: 'Format of the file.',
      schema: Type.String({ enum: [...EXPORT_NAMES] }),
    },
    targetCrs: makeOptional({
      title: 'Target CRS',
      description: 'CRS of the coordinates. Default: the CRS of the features. KML is always WGS 84.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
  },
  outputs: {
    file: fileOutput('File', 'File in the requested format. A shapefile is in a ZIP archive.'),
  },
  refuse({ targetCrs }) {
    if (targetCrs !== undefined) resolveCrs('/inputs/targetCrs', String(targetCrs));
  },
  work: { kind: 'export', input: 'features', output: 'file' },
};
