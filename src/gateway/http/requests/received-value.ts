import { ApiError, type FieldError } from '../../../core/errors/errors.js';

/** Errors of parameters name the value that was received. */

const MAX_SHOWN = 60;
/** Parameters whose values no response repeats. */
const SECRET = /token|secret|password|key|assertion|verifier|^code$|^sig|^state$/i;

/** The same error with the values of the parameters that it names, unless it has them already. */
export function nameReceived(error: ApiError, readValue: (name: string) => string | undefined): ApiError {
  if (error.code !== 'invalid-parameter' || !error.errors) return error;
  let { message } = error;
  const errors = error.errors.map((one) => {
    const detail = detailed(one, readValue(one.name));
    // The message has the details, or is the client's own text.
    message = message.replace(one.detail, () => detail);
    return detail === one.detail ? one : { ...one, detail };
  });
  if (message === error.message && errors.every((one, i) => one === error.errors![i])) return error;
  const { headers, type, cause } = error;
  return new ApiError(error.code, message, {
    errors,
    headers,
    cause,
    ...(type === undefined ? {} : { type }),
  });
}

function detailed({ name, detail }: FieldError, value: string | undefined): string {
  if (value === undefined || SECRET.test(name)) return detail;
  const start = value.slice(0, MAX_SHOWN);
  if (detail.includes(`'${start.slice(0, MAX_SHOWN / 3)}`) || /\breceived\b/.test(detail)) return detail;
  return `${detail.replace(/\.$/, '')}; received '${start}${value.length > MAX_SHOWN ? '…' : ''}'`;
}

/** The value of a parameter in a query, whose names may be in any case. */
export function valueInQuery(query: string, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (const [key, value] of new URLSearchParams(query)) if (key.toLowerCase() === wanted) return value;
  return undefined;
}
