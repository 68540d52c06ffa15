import { propertyOf } from '../values.js';
import type { SymbolEntry } from './entries.js';

type Layer = SymbolEntry['layers'][number];

/** What a layer of an entry draws with, as plain values; lengths are pixels. */
export interface Drawn {
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
export function drawnBy({ layers, properties, shape }: SymbolEntry, zoom: number): Drawn[] {
  return layers.map((layer) => {
    const of = <T>(name: string): T => {
      const feature = { type: FEATURE_TYPES[shape], properties };
      return propertyOf(layer, name).evaluate({ zoom }, feature as never) as T;
    };
    return drawingOf(layer, of);
  });
}

function drawingOf({ type }: Layer, of: <T>(name: string) => T): Drawn {
  const color = (name: string) => String(of(name));
  switch (type) {
    case 'fill':
    case 'fill-extrusion':
      return { type, color: color(`${type}-color`), opacity: of(`${type}-opacity`), ...outline(type, of) };
    case 'line': {
      const dashes = of<number[] | undefined>('line-dasharray');
      const width = of<number>('line-width');
      return {
        type,
        color: color('line-color'),
        opacity: of('line-opacity'),
        width,
        ...(dashes && { dashes: dashes.map((dash) => dash * width) }),
      };
    }
    case 'circle':
      return {
        type,
        color: color('circle-color'),
        opacity: of('circle-opacity'),
        radius: of('circle-radius'),
        strokeColor: color('circle-stroke-color'),
        strokeWidth: of('circle-stroke-width'),
      };
    case 'symbol': {
      const image = of<{ name?: string } | string | null>('icon-image');
      const icon = typeof image === 'string' ? image : image?.name;
      return { type, color: color('icon-color'), ...(icon && { icon }), size: of('icon-size') };
    }
    default:
      return { type };
  }
}

function outline(type: string, of: <T>(name: string) => T): Partial<Drawn> {
  const edge = type === 'fill' ? of<unknown>('fill-outline-color') : undefined;
  return edge ? { strokeColor: String(edge), strokeWidth: 1 } : {};
}
