import { XMLParser } from 'fast-xml-parser';
import { TaskFailure } from '../../core/errors/failure.js';
import { refused } from '../storage/remote/allowed-hosts.js';

/** XML of other servers as plain objects. Attribute names have the prefix `@`, and namespace prefixes are removed. */
export type XmlNode = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 64;

const parser = new XMLParser({
  removeNSPrefix: true,
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: MAX_DEPTH,
});

/** A document type can only be in front of the root element: this many characters are searched for it. */
const PROLOGUE_LENGTH = 65_536;

/**
 * Returns the name of the root element and its content. Fails with `source-unreadable`. Document types are refused,
 * because their entities can expand without limit, or name files and other servers.
 */
export function parseXmlDocument(bytes: Buffer): { name: string; root: XmlNode } {
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text.slice(0, PROLOGUE_LENGTH)) && !isOldCapabilities(text))
    throw refused('its XML has a document type, which is not supported');
  try {
    const document = parser.parse(text.replace(/<!DOCTYPE[^>[]*>/i, '')) as Record<string, unknown>;
    const [name] = Object.keys(document).filter((key) => !key.startsWith('?') && key !== '#text');
    if (name === undefined) throw refused('it is not XML');
    return { name, root: getXmlNode(document[name]) };
  } catch (error) {
    throw error instanceof TaskFailure ? error : refused('it is not well-formed XML');
  }
}

/** Whether a text is WMS 1.1 capabilities. Their document type has a URL and no internal entities. */
function isOldCapabilities(text: string): boolean {
  return /<!DOCTYPE\s+WMT_MS_Capabilities\b[^>[]*>/i.test(text) && !/<!ENTITY/i.test(text);
}

function getXmlNode(value: unknown): XmlNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as XmlNode) : {};
}

/** Child elements with a name. */
export function listXmlChildren(node: XmlNode, name: string): XmlNode[] {
  const value = node[name];
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map((one) =>
    typeof one === 'object' && one !== null ? (one as XmlNode) : { '#text': one },
  );
}

/** The first element at a path of child names. Empty if there is none. */
export function getXmlChild(node: XmlNode, ...path: readonly string[]): XmlNode {
  return path.reduce((parent, name) => listXmlChildren(parent, name)[0] ?? {}, node);
}

/** Text of an element. Undefined if the element is empty or missing. */
export function findXmlText(node: XmlNode, ...path: readonly string[]): string | undefined {
  const text = getXmlChild(node, ...path)['#text'];
  return text === undefined || text === '' ? undefined : String(text);
}

export function findXmlAttribute(node: XmlNode, name: string): string | undefined {
  const value = node[`@${name}`];
  return value === undefined ? undefined : String(value);
}

/** Returns the message of an OGC exception report. Undefined for any other document. */
export function findOgcException({ name, root }: { name: string; root: XmlNode }): string | undefined {
  if (!/^(ServiceExceptionReport|ExceptionReport)$/.test(name)) return undefined;
  const text =
    findXmlText(root, 'Exception', 'ExceptionText') ??
    findXmlText(root, 'ServiceException') ??
    'no reason given';
  return text.trim().slice(0, 300);
}
