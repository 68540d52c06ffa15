import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Exchange } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import type { Field, FieldType, GeometryType } from '../../core/sources/vector-source.js';
import { decodeXmlName, xmlName } from '../../core/values/xml-name.js';
import { xmlEscaped } from '../../core/values/xml-text.js';

/** GML 3.2 Simple Features (OGC 17-069r4, 8.4): what stands around features, and the schema that describes them. */

const GML_NAMESPACE = 'urn:graticule:features';
export const SCHEMA_PATH = `${FEATURES_PATH}/schemas/svc-ogcapi-features.xsd`;
export const CORE = 'http://www.opengis.net/ogcapi-features-1/1.0';
const SF = `${CORE}/sf`;
const SCHEMAS = 'http://schemas.opengis.net/ogcapi/features/part1/1.0/xml';
export const CORE_SCHEMA = `${SCHEMAS}/core.xsd`;
const SF_SCHEMA = `${SCHEMAS}/core-sf.xsd`;
export const GML = 'http://www.opengis.net/gml/3.2';
export const GML_SCHEMA = 'http://schemas.opengis.net/gml/3.2.1/gml.xsd';
const GMLSF = 'http://www.opengis.net/gmlsf/2.0';
const GMLSF_SCHEMA = 'http://schemas.opengis.net/gmlsfProfile/2.0/gmlsfLevels.xsd';

export const XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';
export const XSI = 'http://www.w3.org/2001/XMLSchema-instance';
const NAMESPACES = `xmlns:app="${GML_NAMESPACE}" xmlns:gml="${GML}" xmlns:xsi="${XSI}"`;

/** Start of a feature collection. No feature and no geometry has its `gml:id` (src/native/core/formats/gml.h). */
export function gmlHead(x: Exchange): string {
  const locations = xmlEscaped(`${SF} ${SF_SCHEMA} ${schemaLocation(x)}`);
  return `${XML_HEAD}<sf:FeatureCollection gml:id="g0" xmlns:sf="${SF}" ${NAMESPACES} xsi:schemaLocation="${locations}">
`;
}

export const GML_TAIL = '\n</sf:FeatureCollection>\n';

function schemaLocation(x: Exchange): string {
  return `${GML_NAMESPACE} ${x.baseUrl}${SCHEMA_PATH}`;
}

const MEMBER = '<sf:featureMember>';
const MEMBER_END = '</sf:featureMember>';

/** A single feature as a document, made from its member in a collection. */
export function gmlFeature(x: Exchange, member: string): string {
  const feature = member.slice(MEMBER.length, -MEMBER_END.length);
  const name = feature.indexOf(' ');
  const attributes = `${NAMESPACES} xsi:schemaLocation="${xmlEscaped(schemaLocation(x))}"`;
  return `${XML_HEAD}${feature.slice(0, name)} ${attributes}${feature.slice(name)}\n`;
}

/** The id of the feature that has this `gml:id`, where that is not the id itself: `f.12`. */
export function parseGmlId(gmlId: string): string | undefined {
  return gmlId.startsWith('f.') ? decodeXmlName(gmlId.slice(2)) : undefined;
}

/**
 * The application schema of collections: one element and one type for each. It also imports the schemas of all other
 * root elements, so that it validates every XML response of the surface.
 */
export function gmlSchema(
  collections: readonly { collection: VectorCollection; fields: readonly Field[] }[],
) {
  return `${XML_HEAD}<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:gml="${GML}" xmlns:app="${GML_NAMESPACE}" targetNamespace="${GML_NAMESPACE}" elementFormDefault="qualified" version="1.0">
  <xs:annotation>
    <xs:appinfo source="${GMLSF_SCHEMA}">
      <gmlsf:ComplianceLevel xmlns:gmlsf="${GMLSF}">0</gmlsf:ComplianceLevel>
    </xs:appinfo>
  </xs:annotation>
  <xs:import namespace="${GML}" schemaLocation="${GML_SCHEMA}"/>
  <xs:import namespace="${GMLSF}" schemaLocation="${GMLSF_SCHEMA}"/>
  <xs:import namespace="${SF}" schemaLocation="${SF_SCHEMA}"/>
  <xs:import namespace="${CORE}" schemaLocation="${CORE_SCHEMA}"/>
${collections.map(formatType).join('')}</xs:schema>
`;
}

function formatType({
  collection,
  fields,
}: {
  collection: VectorCollection;
  fields: readonly Field[];
}): string {
  const name = xmlName(collection.id);
  const { geometryColumn, geometryType } = collection.source;
  const geometry = element(xmlName(geometryColumn), GEOMETRIES[geometryType]);
  return `  <xs:element name="${name}" type="app:${name}Type" substitutionGroup="gml:AbstractFeature"/>
  <xs:complexType name="${name}Type">
    <xs:complexContent>
      <xs:extension base="gml:AbstractFeatureType">
        <xs:sequence>
${geometry}${fields.map((field) => element(xmlName(field.name), TYPES[field.type])).join('')}        </xs:sequence>
      </xs:extension>
    </xs:complexContent>
  </xs:complexType>
`;
}

function element(name: string, type: string): string {
  return `          <xs:element name="${name}" type="${type}" minOccurs="0"/>\n`;
}

export const TYPES: Record<FieldType, string> = {
  integer: 'xs:long',
  number: 'xs:double',
  string: 'xs:string',
  boolean: 'xs:boolean',
  // Stores hand out what was put into them, which need not be a date in every row.
  date: 'xs:string',
  'date-time': 'xs:string',
  binary: 'xs:base64Binary',
  json: 'xs:string',
  array: 'xs:string',
};

/** GML property type of each geometry type. CurvePropertyType also allows multi-part curves, because a column contains single and multi geometries. */
export const GEOMETRIES: Record<GeometryType, string> = {
  Point: 'gml:PointPropertyType',
  MultiPoint: 'gml:MultiPointPropertyType',
  LineString: 'gml:CurvePropertyType',
  MultiLineString: 'gml:MultiCurvePropertyType',
  Polygon: 'gml:SurfacePropertyType',
  MultiPolygon: 'gml:MultiSurfacePropertyType',
  GeometryCollection: 'gml:MultiGeometryPropertyType',
  Geometry: 'gml:GeometryPropertyType',
};
