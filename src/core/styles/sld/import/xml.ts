import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { LIMITS } from '../../../kit/limits.js';
import { xmlUnescaped } from '../../../values/xml-text.js';
import { STYLE_LIMITS } from '../../limits.js';
import { SldFailure } from '../report.js';

/**
 * Element with a name without prefix, because elements of SLD, SE, FES and GML are distinguished by their position.
 */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Text and elements in their order; entities are resolved. */
  readonly content: readonly (string | XmlElement)[];
}

const parser = new XMLParser({
  preserveOrder: true,
  removeNSPrefix: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  cdataPropName: '#cdata',
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: STYLE_LIMITS.sldDepth,
});

/**
 * The root element of a text.
 * @throws SldFailure when it is too long or deep, has a document type, or is not well-formed.
 */
export function parseSldXml(text: string): XmlElement {
  if (text.length > LIMITS.sldBytes) {
    throw new SldFailure(
      'StyledLayerDescriptor',
      `The SLD is too large. The limit is ${LIMITS.sldBytes} bytes.`,
    );
  }
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) {
    throw new SldFailure(
      'DOCTYPE',
      'Document types and entities are not supported. Replace entities by their values.',
    );
  }
  const nodes = readNodes(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  const roots = readContent(nodes, 0).filter((part) => typeof part !== 'string');
  if (roots.length !== 1) throw new SldFailure('XML', 'The SLD must be one XML element.');
  return roots[0]!;
}

/** Parsing precedes validation, because it ends earlier for text that is not XML. */
function readNodes(text: string): OrderedNode[] {
  try {
    const nodes = parser.parse(text) as OrderedNode[];
    const verdict = XMLValidator.validate(text);
    if (verdict === true) return nodes;
    const { line, msg } = verdict.err;
    throw new SldFailure(
      'XML',
      `Line ${line} of the XML is not well-formed: ${msg.slice(0, 200).replace(/\.$/, '')}.`,
    );
  } catch (error) {
    if (error instanceof SldFailure) throw error;
    throw new SldFailure(
      'XML',
      'The XML is not well-formed. Close all elements, and quote all values of attributes.',
    );
  }
}

/** Parsed node: one member is the element with its content, `:@` contains the attributes. */
type OrderedNode = Readonly<Record<string, unknown>>;

function readContent(nodes: readonly OrderedNode[], depth: number): (string | XmlElement)[] {
  if (depth > STYLE_LIMITS.sldDepth) {
    throw new SldFailure('XML', `Elements are nested deeper than ${STYLE_LIMITS.sldDepth} levels.`);
  }
  return nodes.map((node) => readPart(node, depth)).filter((part) => part !== '');
}

function readPart(node: OrderedNode, depth: number): string | XmlElement {
  const name = Object.keys(node).find((key) => key !== ':@') ?? '';
  const value = node[name];
  if (name === '#text') return xmlUnescaped(String(value));
  if (name === '#cdata') return (value as OrderedNode[]).map((part) => String(part['#text'])).join('');
  const attributes: Record<string, string> = {};
  for (const [key, text] of Object.entries((node[':@'] ?? {}) as Record<string, unknown>)) {
    attributes[key] = xmlUnescaped(String(text));
  }
  return { name, attributes, content: Array.isArray(value) ? readContent(value, depth + 1) : [] };
}

export function elements(of: XmlElement): XmlElement[] {
  return of.content.filter((part) => typeof part !== 'string');
}

/** The children of this name. */
export function all(of: XmlElement | undefined, name: string): XmlElement[] {
  return of ? elements(of).filter((child) => child.name === name) : [];
}

/** The first child of this name, down a path of names. */
export function findChild(of: XmlElement | undefined, ...path: string[]): XmlElement | undefined {
  let at = of;
  for (const name of path) at = at && elements(at).find((one) => one.name === name);
  return at;
}

/** The trimmed text of an element, without that of its children; undefined when there is none. */
export function readTextContent(of: XmlElement | undefined): string | undefined {
  const text = of?.content
    .filter((part) => typeof part === 'string')
    .join('')
    .trim();
  return text === '' ? undefined : text;
}

/** A constant number. */
export function readNumberContent(of: XmlElement | undefined): number | undefined {
  return asNumber(readTextContent(of));
}

/** A decimal number, also with an exponent; undefined for any other text. */
export function asNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
