import { readFileSync } from 'node:fs';
import { type FilterSpecification, featureFilter } from '@maplibre/maplibre-gl-style-spec';
import type { SldTarget } from '../../src/core/styles/sld/import/context.js';
import { importSld, type SldImport } from '../../src/core/styles/sld/import/import.js';

export function fixture(name: string): string {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
}

/** A whole SLD 1.0 around the content of a rule. */
export function ruleOf(content: string): string {
  return (
    '<StyledLayerDescriptor version="1.0.0" xmlns="http://www.opengis.net/sld" xmlns:ogc="http://www.opengis.net/ogc">' +
    `<NamedLayer><Name>a</Name><UserStyle><FeatureTypeStyle><Rule><Name>r</Name>${content}</Rule>` +
    '</FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>'
  );
}

const LINE = '<LineSymbolizer><Stroke/></LineSymbolizer>';

/** What a filter of an SLD takes, as the style specification's own code evaluates it. */
export function takenBy(
  filter: string,
  target: SldTarget = {},
): (properties: object, id?: number) => boolean {
  const { layers, diagnostics } = importSld(ruleOf(`<ogc:Filter>${filter}</ogc:Filter>${LINE}`), target);
  if (layers.length !== 1) throw new Error(JSON.stringify(diagnostics));
  const test = featureFilter((layers[0] as { filter: FilterSpecification }).filter, 'layers[0].filter');
  return (properties, id) => test.filter({ zoom: 5 }, { type: 2, properties, id } as never);
}

export function importRule(content: string, target: SldTarget = {}): SldImport {
  return importSld(ruleOf(content), target);
}

/** The paint and layout of the only layer. */
export function onlyLayer({ layers }: SldImport): { type: string; paint: object; layout: object } {
  if (layers.length !== 1) throw new Error(`${layers.length} layers`);
  return layers[0] as never;
}
