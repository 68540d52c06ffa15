/** What tools are told of a process that they are to become. */

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
