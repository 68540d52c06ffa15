const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text for XML 1.0, without invalid characters. */
export function escapeXmlText(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML 1.0 does not allow.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
      .replace(/[&<>"]/g, (character) => ESCAPES[character]!)
  );
}

/** Element with XML content. Undefined and empty parts are omitted. */
export function xml(
  name: string,
  content: readonly (string | undefined)[] = [],
  attributes: Readonly<Record<string, string | undefined>> = {},
): string {
  const pairs = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXmlText(value!)}"`)
    .join('');
  const inner = content.filter((part) => part !== undefined).join('');
  return inner === '' ? `<${name}${pairs}/>` : `<${name}${pairs}>${inner}</${name}>`;
}

/** An element of text. */
export function xmlText(
  name: string,
  text: string | number,
  attributes: Readonly<Record<string, string>> = {},
): string {
  return xml(name, [escapeXmlText(String(text))], attributes);
}
