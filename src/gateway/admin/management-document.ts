import type { Operation } from '../../core/http/operation.js';
import { openApiDocument } from '../http/openapi.js';

/** The OpenAPI document of the management API, for a server whose paths start with a prefix. */
export function managementDocument(
  operations: readonly Operation[],
  { publicUrl }: { readonly publicUrl: string },
  prefix: string,
): unknown {
  const serverUrl = publicUrl || prefix || '/';
  return openApiDocument(
    { title: 'Graticule management', description: 'Management API', serverUrl },
    operations,
  );
}
