/** The parts of an OpenAPI document that the pages of the API reference show. */

/** JSON Schema in the dialect of OpenAPI 3.0. */
export interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly items?: ApiSchema;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | ApiSchema;
  readonly anyOf?: readonly ApiSchema[];
  readonly oneOf?: readonly ApiSchema[];
  readonly allOf?: readonly ApiSchema[];
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: ApiSchema;
}

export type ApiContent = Readonly<Record<string, { readonly schema?: ApiSchema }>>;

interface ApiResponse {
  readonly description: string;
  readonly content?: ApiContent;
}

/** An operation of an OpenAPI document, with its place in it. */
export interface ApiOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly isBuilt: boolean;
  /** `public`, `authenticated` or a permission label. */
  readonly permission: string;
  readonly parameters: readonly ApiParameter[];
  readonly body?: { readonly required: boolean; readonly content: ApiContent } | undefined;
  readonly responses: Readonly<Record<string, ApiResponse>>;
}

/** An API in the reference. `openapi` starts with a slash. */
export interface InterfaceDocument {
  readonly surface: string;
  readonly title: string;
  readonly description: string;
  /** Absent for APIs that publish no OpenAPI document. */
  readonly openapi?: string;
}

/** An API with its operations. */
export interface ReferenceDocument extends InterfaceDocument {
  readonly operations: readonly ApiOperation[];
}
