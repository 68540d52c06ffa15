import { exactInteger, toInt64 } from '../../core/values/exact-number.js';

/** The integer of 64 bits that an id is, written the one way that the server writes it; undefined for any other text. */
export function readIntegerId(id: string): bigint | undefined {
  return /^(0|-?[1-9]\d{0,18})$/.test(id) ? toInt64(exactInteger(id)) : undefined;
}
