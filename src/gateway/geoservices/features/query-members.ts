import Type from 'typebox';
import type { Param } from '../../../core/http/operation.js';

/** A parameter of a query. What is wrong with it is said in band. */
export function member(name: string, description: string): Param<string | undefined> {
  return { name, in: 'query', description, schema: Type.String(), parse: (raw) => raw };
}
