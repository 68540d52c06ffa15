import Type from 'typebox';
import { resolveCrs } from '../../../native/crs.js';
import { EXPORT_NAMES } from '../../exchange/exports/formats.js';
import type { ProcessDefinition } from '../definition.js';
import { featuresInput, fileOutput, makeOptional } from './parts.js';

/** The formats of exports of layers. */
export const featureExport: ProcessDefinition = {
  id: 'conversion.feature-export',
  title: 'Export features',
  description: 'The features as a file of a format that other programs read.',
  keywords: ['vector', 'export'],
  inputs: {
    features: featuresInput('Features', 'The features to write.'),
    format: {
      title: 'Format',
      description: 'Of the file.',
      schema: Type.String({ enum: [...EXPORT_NAMES] }),
    },
    targetCrs: makeOptional({
      title: 'Target CRS',
      description: 'Of the coordinates; that of the features when absent, and always WGS 84 in KML.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
  },
  outputs: {
    file: fileOutput('File', 'In the format that was asked for; shapefiles lie in a ZIP archive.'),
  },
  refuse({ targetCrs }) {
    if (targetCrs !== undefined) resolveCrs('/inputs/targetCrs', String(targetCrs));
  },
  work: { kind: 'export', input: 'features', output: 'file' },
};
