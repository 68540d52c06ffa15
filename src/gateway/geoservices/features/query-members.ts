import Type from 'typebox';
import type { Param } from '../../../core/http/operation.js';

/** A parameter of a query. Errors are reported in the body with status 200. */
export function member(name: string, description: string): Param<string | undefined> {
  return { name, in: 'query', description, schema: Type.String(), parse: (raw) => raw };
}
