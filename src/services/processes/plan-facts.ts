import { resultColumns } from '../../core/processes/feature-processes.js';
import { type Field, hasIntegerIds } from '../../core/sources/vector-source.js';
import { findFreeName, namesInUse } from '../../core/values/column-names.js';
import type { FeaturesFacts, InputValues, ProcessWork } from './definition.js';
import type { CollectionReference, SourceReference, SourceValue } from './source-input.js';
import { crsFacts } from './sources.js';

type FeaturesWork = Extract<ProcessWork, { kind: 'features' }>;

/**
 * Facts about the output features of a process, before it runs. Undefined if they depend on the data. Throws 400 with
 * the name of an input that does not fit the features.
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
      const named = source.fields.filter(({ name }) => fields.includes(name));
      if (hasIntegerIds(source) && !process.parts) return factsWith(facts, named, process.crs);
      // Ids that do not stay become an attribute.
      const name = findFreeName(source.idColumn, namesInUse(named));
      const type = hasIntegerIds(source) ? 'integer' : 'string';
      return factsWith(facts, [{ name, type, nullable: false }, ...named], process.crs);
    }
    case 'clip':
    case 'subtract':
      return factsWith(facts, [...facts.source.fields]);
    default:
      return undefined;
  }
}

function factsWith({ source, crs: before }: FeaturesFacts, fields: Field[], crs?: string): FeaturesFacts {
  return {
    source: {
      ...source,
      ...resultColumns(fields),
      fields,
      idType: 'integer',
      ...(crs === undefined ? {} : { crs }),
    },
    fields: fields.map(({ name }) => name),
    crs: crs === undefined ? before : crsFacts(crs),
  };
}

type Source = SourceReference | SourceValue;

/**
 * Returns a function that finds the facts about an input of a step by its name: facts of a collection, or of an
 * earlier step.
 */
export function createFactsLookup(
  sources: Readonly<Record<string, Source>>,
  facts: ReadonlyMap<string, FeaturesFacts | undefined>,
  ofCollection: (name: string, reference: CollectionReference) => FeaturesFacts,
): (name: string | undefined) => FeaturesFacts | undefined {
  return (name) => {
    const reference = name === undefined ? undefined : sources[name];
    if (reference?.kind === 'step') return facts.get(reference.step);
    return reference?.kind === 'collection' ? ofCollection(name!, reference) : undefined;
  };
}
