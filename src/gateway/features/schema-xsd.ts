import type { Field, FieldType } from '../../core/sources/vector-source.js';
import { xmlName } from '../../core/values/xml-name.js';
import type { CollectionView } from '../../services/features/view.js';
import { GEOMETRIES, GML, GML_SCHEMA, TYPES, XML_HEAD } from './gml.js';

/**
 * XML Schema of one collection, for readers of GeoJSON that take the column types from it. Otherwise GDAL would
 * derive the types from the first page, where a column may contain only small integers or nulls, and truncate later
 * values. It describes the JSON properties, so it does not validate GML responses.
 */
export function schemaXsd({ visible, fields }: CollectionView): string {
  const name = xmlName(visible.id);
  const { geometryColumn, geometryType } = visible.source;
  const properties = fields.filter(isTypedByXsd).map((field) => element(field.name, JSON_TYPES[field.type]));
  return `${XML_HEAD}<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:gml="${GML}" elementFormDefault="qualified" version="1.0">
  <xs:import namespace="${GML}" schemaLocation="${GML_SCHEMA}"/>
  <xs:element name="${name}" type="${name}Type" substitutionGroup="gml:AbstractFeature"/>
  <xs:complexType name="${name}Type">
    <xs:complexContent>
      <xs:extension base="gml:AbstractFeatureType">
        <xs:sequence>
${element(xmlName(geometryColumn), GEOMETRIES[geometryType])}${properties.join('')}        </xs:sequence>
      </xs:extension>
    </xs:complexContent>
  </xs:complexType>
</xs:schema>
`;
}

/** Types as in the JSON schema. The reader rejects values that are not valid dates. */
const JSON_TYPES: Record<FieldType, string> = { ...TYPES, date: 'xs:date', 'date-time': 'xs:dateTime' };

/**
 * Fields that readers derive from the features instead: those without a type or a valid name in XML Schema, and a
 * first column `id`, which GDAL would otherwise have twice.
 */
function isTypedByXsd({ name, type }: Field, index: number): boolean {
  return type !== 'json' && type !== 'array' && xmlName(name) === name && !(index === 0 && name === 'id');
}

function element(name: string, type: string): string {
  return `          <xs:element name="${name}" type="${type}" minOccurs="0"/>\n`;
}
