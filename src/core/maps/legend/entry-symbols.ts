import { compileStyleProperty } from '../../styles/values.js';
import type { SymbolEntry } from './entries.js';

type Layer = SymbolEntry['layers'][number];

/** Symbol of a layer in a legend entry, as plain values; lengths are pixels. */
export interface EntrySymbol {
  readonly type: Layer['type'];
  readonly color?: string;
  readonly opacity?: number;
  readonly width?: number;
  readonly dashes?: readonly number[];
  readonly radius?: number;
  readonly strokeColor?: string;
  readonly strokeWidth?: number;
  readonly icon?: string;
  readonly size?: number;
}

const FEATURE_TYPES = { point: 1, line: 2, polygon: 3 } as const;

/** The values of an entry's layers for its feature, bottom first. */
export function drawnBy({ layers, properties, shape }: SymbolEntry, zoom: number): EntrySymbol[] {
  return layers.map((layer) => {
    const of = <T>(name: string): T => {
      const feature = { type: FEATURE_TYPES[shape], properties };
      return compileStyleProperty(layer, name).evaluate({ zoom }, feature as never) as T;
    };
    return buildDrawing(layer, of);
  });
}

type Read = <T>(name: string) => T;
type Values = Omit<EntrySymbol, 'type'>;

/** Reads the symbol of each layer type; other types have no symbol. */
const VALUES: { readonly [T in Layer['type']]?: (of: Read) => Values } = {
  fill: (of) => ({ ...area('fill', of), ...outline(of) }),
  'fill-extrusion': (of) => area('fill-extrusion', of),
  line: (of) => {
    const dashes = of<number[] | undefined>('line-dasharray');
    const width = of<number>('line-width');
    return {
      color: String(of('line-color')),
      opacity: of('line-opacity'),
      width,
      ...(dashes && { dashes: dashes.map((dash) => dash * width) }),
    };
  },
  circle: (of) => ({
    color: String(of('circle-color')),
    opacity: of('circle-opacity'),
    radius: of('circle-radius'),
    strokeColor: String(of('circle-stroke-color')),
    strokeWidth: of('circle-stroke-width'),
  }),
  symbol: (of) => {
    const image = of<{ name?: string } | string | null>('icon-image');
    const icon = typeof image === 'string' ? image : image?.name;
    return { color: String(of('icon-color')), ...(icon && { icon }), size: of('icon-size') };
  },
};

function buildDrawing({ type }: Layer, of: Read): EntrySymbol {
  return { type, ...VALUES[type]?.(of) };
}

function area(type: 'fill' | 'fill-extrusion', of: Read): Values {
  return { color: String(of(`${type}-color`)), opacity: of(`${type}-opacity`) };
}

function outline(of: Read): Values {
  const edge = of<unknown>('fill-outline-color');
  return edge ? { strokeColor: String(edge), strokeWidth: 1 } : {};
}
