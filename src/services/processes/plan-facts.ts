import { type Field, hasIntegerIds } from '../../core/vector-source.js';
import type { FeaturesFacts, InputValues, ProcessWork } from './definition.js';
import { crsFacts } from './sources.js';

type FeaturesWork = Extract<ProcessWork, { kind: 'features' }>;

/**
 * What is certain of the features that a process makes, before it runs; undefined where that depends on more. Throws 400
 * naming an input that does not fit the features that are read.
 */
export function factsAfter(
  work: FeaturesWork,
  values: InputValues,
  facts: FeaturesFacts | undefined,
  overlay: FeaturesFacts | undefined,
): FeaturesFacts | undefined {
  if (!facts) return undefined;
  const { process, fields = facts.fields } = work.plan(values, facts, overlay);
  switch (process.kind) {
    case 'map': {
      const { source } = facts;
      const id: Field[] = hasIntegerIds(source)
        ? []
        : [{ name: source.idColumn, type: 'string', nullable: false }];
      const named = source.fields.filter(({ name }) => fields.includes(name));
      return factsWith(facts, [...id, ...named], process.crs);
    }
    case 'clip':
    case 'subtract':
      return facts;
    default:
      return undefined;
  }
}

function factsWith({ source, crs: before }: FeaturesFacts, fields: Field[], crs?: string): FeaturesFacts {
  return {
    source: { ...source, fields, idType: 'integer', ...(crs === undefined ? {} : { crs }) },
    fields: fields.map(({ name }) => name),
    crs: crs === undefined ? before : crsFacts(crs),
  };
}
