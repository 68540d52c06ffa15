/** What can be processed on this server, as far as its callers must know. */

export interface ProcessInput {
  readonly name: string;
  /** Type of its values: of JSON Schema, or `geometry`, `layer`. */
  readonly type: string;
  readonly required: boolean;
}

export interface ProcessDescription {
  readonly id: string;
  readonly inputs: readonly ProcessInput[];
}

/** None is built yet: /ogc/processes answers 501. */
export const PROCESSES: readonly ProcessDescription[] = [];
