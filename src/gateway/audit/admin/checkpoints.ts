import Type from 'typebox';
import { TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const { report } = createRowBuilders(['checkpoints']);

const S = Type.String();
const I = Type.Integer();

/** Signed checkpoints of the audit trail, an extension of the contract. */
export const auditCheckpoints = group({ tag: 'Observability', scope: 'audit', envelope: 'raw' }, [
  report('GET /observability/audit/checkpoints', 'List Audit Checkpoints', {
    description:
      'Signed statements about the number of rows and the hash of the last row, oldest first, and the public keys. `graticule audit verify` reads the response as a file.',
    data: Type.Object({
      keys: Type.Array(Type.Object({ kid: S, kty: S, crv: S, x: S })),
      checkpoints: Type.Array(
        Type.Object({ rows: I, lastId: I, hash: S, time: TimestampSchema, signature: S }),
      ),
    }),
    async answer(_x, { checkpoints }) {
      const { keys, checkpoints: rows } = await checkpoints.list();
      return {
        keys: keys.map(({ kid = '', kty = '', crv = '', x = '' }) => ({ kid, kty, crv, x })),
        checkpoints: rows.map(({ row_count, last_id, last_hash, created_at, signature }) => ({
          ...{ rows: row_count, lastId: last_id, hash: last_hash, time: timestamp(created_at), signature },
        })),
      };
    },
  }),
]);
