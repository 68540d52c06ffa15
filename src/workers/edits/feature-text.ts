/** The parts of a feature as our writers write it: `{"type":"Feature","id":1,"geometry":...,"properties":{...}}`. */
export interface FeatureText {
  id: string;
  /** GeoJSON geometry or `null`. */
  geometry: string;
  properties: string;
}

const ID = '"id":';
const GEOMETRY = ',"geometry":';
const PROPERTIES = ',"properties":';

/** Takes a feature apart without parsing it: inside an id quotes are escaped, and a geometry holds no such text. */
export function featureText(bytes: Uint8Array): FeatureText {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const geometry = text.indexOf(GEOMETRY);
  const properties = text.indexOf(PROPERTIES, geometry);
  const id = text.slice(text.indexOf(ID) + ID.length, geometry);
  return {
    id: id.startsWith('"') ? JSON.parse(id) : id,
    geometry: text.slice(geometry + GEOMETRY.length, properties),
    properties: text.slice(properties + PROPERTIES.length, -1),
  };
}
