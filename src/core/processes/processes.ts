/** Description of a process for the import of GeoServices tools. */

interface ProcessInput {
  readonly name: string;
  /** Type of its values: of JSON Schema, or `layer`. */
  readonly type: string;
  readonly required: boolean;
}

export interface ProcessDescription {
  readonly id: string;
  readonly inputs: readonly ProcessInput[];
}
