import { xmlEscaped } from '../../../core/values/xml-text.js';

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** Returns an element of a Mapnik map definition. Attributes without a value are omitted. */
export function writeMapnikElement(name: string, attributes: Attributes, content = ''): string {
  let text = `<${name}`;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== '') text += ` ${key}="${xmlEscaped(String(value))}"`;
  }
  return content === '' ? `${text}/>` : `${text}>${content}</${name}>`;
}

/** `geometry-transform` of a `*-translate` property: pixels right and down. */
export function translation([x, y]: readonly [number, number]): string | undefined {
  return x === 0 && y === 0 ? undefined : `translate(${x},${y})`;
}
