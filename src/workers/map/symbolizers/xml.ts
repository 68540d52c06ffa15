type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An element of a Mapnik map definition; attributes without a value are left out. */
export function element(name: string, attributes: Attributes, content = ''): string {
  let text = `<${name}`;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== '') text += ` ${key}="${escaped(String(value))}"`;
  }
  return content === '' ? `${text}/>` : `${text}>${content}</${name}>`;
}

/** Text of attributes and contents. Characters that XML 1.0 does not have become spaces. */
export function escaped(text: string): string {
  return text
    .replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ' ');
}

/** `geometry-transform` of a `*-translate` property: pixels right and down. */
export function translation([x, y]: readonly [number, number]): string | undefined {
  return x === 0 && y === 0 ? undefined : `translate(${x},${y})`;
}
