declare module '@mapbox/mvt-fixtures' {
  export interface Fixture {
    id: string;
    description: string;
    validity: { v1: boolean; v2: boolean };
    buffer: Buffer;
  }
  export function get(id: string): Fixture;
}
