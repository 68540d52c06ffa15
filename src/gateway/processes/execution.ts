import Type from 'typebox';
import type { BodySpec } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import { EXACT_MEMBERS, EXECUTE_BOUNDS } from '../../services/processes/requests/inputs.js';

const address = Type.Optional(Type.String({ minLength: 1, maxLength: 2000 }));

/** A member that is misspelt would be ignored in silence. */
const CLOSED = { additionalProperties: false };

/** Request body of an execution (OGC 18-062r2, 7.11). */
export const executeBody = {
  schema: Type.Object(
    {
      inputs: Type.Optional(Type.Record(Type.String(), Type.Any())),
      outputs: Type.Optional(
        Type.Record(
          Type.String(),
          Type.Object(
            {
              transmissionMode: Type.Optional(Type.String({ enum: ['value', 'reference'] })),
              format: Type.Optional(Type.Object({ mediaType: Type.Optional(Type.String()) })),
              publish: Type.Optional(
                Type.Object(
                  {
                    collection: Type.String({ minLength: 1, maxLength: 60, pattern: '^[a-z_][a-z0-9_]*$' }),
                    title: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
                  },
                  CLOSED,
                ),
              ),
            },
            CLOSED,
          ),
        ),
      ),
      response: Type.Optional(Type.String({ maxLength: 40 })),
      subscriber: Type.Optional(
        Type.Object(
          { successUri: address, inProgressUri: address, failedUri: address },
          { ...CLOSED, description: 'URLs that receive the job status by POST.' },
        ),
      ),
    },
    CLOSED,
  ),
  mediaTypes: ['application/json'],
  required: true,
  maxBytes: LIMITS.processBodyBytes,
  advice: 'Import the features, or name a file on a host that may be read.',
  bounds: EXECUTE_BOUNDS,
  exactMembers: EXACT_MEMBERS,
} satisfies BodySpec;
