import { xmlEscaped } from '../../core/values/xml-text.js';
import type { LandingDocument, Link } from '../surface/common.js';
import type { CollectionDocument } from './documents.js';
import { CORE, CORE_SCHEMA, XML_HEAD, XSI } from './gml.js';

/** The documents about features as XML (OGC 17-069r4, 8.4 and core.xsd). */

type Collections = { collections: readonly CollectionDocument[]; links: readonly Link[] };

export function landingXml({ title, description, links }: LandingDocument): string {
  return root('LandingPage', element('Title', title) + element('Description', description) + linksXml(links));
}

export function conformanceXml({ conformsTo }: { conformsTo: readonly string[] }): string {
  return root('ConformsTo', conformsTo.map((uri) => `<atom:link href="${xmlEscaped(uri)}"/>\n`).join(''));
}

export function collectionsXml({ collections, links }: Collections): string {
  return root('Collections', linksXml(links) + collections.map(collectionElement).join(''));
}

/** A collection is the only entry of a list. */
export function collectionXml(collection: CollectionDocument): string {
  return root('Collections', collectionElement(collection));
}

function collectionElement(collection: CollectionDocument): string {
  const { id, itemType, title, description, links, extent, crs, storageCrs } = collection;
  const content = [
    element('Id', id),
    element('ItemType', itemType),
    element('Title', title),
    element('Description', description),
    linksXml(links),
    extent.spatial ? extentElement(extent.spatial) : '',
    ...crs.map((uri) => element('Crs', uri)),
    storageCrs === undefined ? '' : element('StorageCrs', storageCrs),
  ];
  return `<Collection>\n${content.join('')}</Collection>\n`;
}

function extentElement({ bbox, crs }: NonNullable<CollectionDocument['extent']['spatial']>): string {
  const [west, south, east, north] = bbox[0]!;
  const corners = `<LowerCorner>${west} ${south}</LowerCorner><UpperCorner>${east} ${north}</UpperCorner>`;
  return `<Extent><Spatial crs="${crs}">${corners}</Spatial></Extent>\n`;
}

/** Link templates are not valid URIs, so the XML omits them. */
function linksXml(links: readonly Link[]): string {
  return links
    .filter(({ templated }) => !templated)
    .map(({ href, rel, type, title }) => {
      const attributes = Object.entries({ rel, type, title, href }).filter(
        ([, value]) => value !== undefined,
      );
      return `<atom:link${attributes.map(([name, value]) => ` ${name}="${xmlEscaped(value!)}"`).join('')}/>\n`;
    })
    .join('');
}

function element(name: string, text: string): string {
  return `<${name}>${xmlEscaped(text)}</${name}>\n`;
}

function root(name: string, content: string): string {
  const namespaces = `xmlns="${CORE}" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:xsi="${XSI}"`;
  return `${XML_HEAD}<${name} service="OGCAPI-Features" version="1.0.0" ${namespaces} xsi:schemaLocation="${CORE} ${CORE_SCHEMA}">
${content}</${name}>
`;
}
