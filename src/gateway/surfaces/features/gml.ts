import type { VectorCollection } from '../../../core/collection.js';
import type { Exchange } from '../../../core/operation.js';
import type { Field, FieldType, GeometryType } from '../../../core/tasks.js';
import { xmlName } from '../../../core/xml-name.js';
import { FEATURES_PATH } from './documents.js';

/** GML 3.2 Simple Features: what stands around the features, and the schema that describes them. */

export const GML_NAMESPACE = 'urn:graticule:features';
export const SCHEMA_PATH = `${FEATURES_PATH}/schemas/svc-ogcapi-features.xsd`;
const SF = 'http://www.opengis.net/ogcapi-features-1/1.0/sf';
const SF_SCHEMA = 'http://schemas.opengis.net/ogcapi/features/part1/1.0/xml/core-sf.xsd';
const GML = 'http://www.opengis.net/gml/3.2';
const GML_SCHEMA = 'http://schemas.opengis.net/gml/3.2.1/gml.xsd';

/** Start of a feature collection (OGC 17-069r4, 8.4). */
export function gmlHead(x: Exchange): string {
  const locations = [SF, SF_SCHEMA, GML_NAMESPACE, x.baseUrl + SCHEMA_PATH].map(xmlText).join(' ');
  return `<?xml version="1.0" encoding="UTF-8"?>
<sf:FeatureCollection xmlns:sf="${SF}" xmlns:app="${GML_NAMESPACE}" xmlns:gml="${GML}" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="${locations}">
`;
}

export const GML_TAIL = '\n</sf:FeatureCollection>\n';

export function xmlText(text: string): string {
  return text.replace(/[<>&"]/g, (character) => ENTITIES[character]!);
}

const ENTITIES: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };

/** The application schema of collections: one element and type each. */
export function gmlSchema(
  collections: readonly { collection: VectorCollection; fields: readonly Field[] }[],
) {
  return `<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:gml="${GML}" xmlns:app="${GML_NAMESPACE}" targetNamespace="${GML_NAMESPACE}" elementFormDefault="qualified" version="1.0">
  <xs:annotation>
    <xs:appinfo source="http://schemas.opengis.net/gmlsfProfile/2.0/gmlsfLevels.xsd">
      <gmlsf:ComplianceLevel xmlns:gmlsf="http://www.opengis.net/gmlsf/2.0">0</gmlsf:ComplianceLevel>
    </xs:appinfo>
  </xs:annotation>
  <xs:import namespace="${GML}" schemaLocation="${GML_SCHEMA}"/>
${collections.map(typeOf).join('')}</xs:schema>
`;
}

function typeOf({ collection, fields }: { collection: VectorCollection; fields: readonly Field[] }): string {
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

const TYPES: Record<FieldType, string> = {
  integer: 'xs:integer',
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

/** A store holds single and multi geometries side by side, so a line may be either. */
const GEOMETRIES: Record<GeometryType, string> = {
  Point: 'gml:PointPropertyType',
  MultiPoint: 'gml:MultiPointPropertyType',
  LineString: 'gml:CurvePropertyType',
  MultiLineString: 'gml:MultiCurvePropertyType',
  Polygon: 'gml:SurfacePropertyType',
  MultiPolygon: 'gml:MultiSurfacePropertyType',
  GeometryCollection: 'gml:MultiGeometryPropertyType',
  Geometry: 'gml:GeometryPropertyType',
};
