/** Links of a chain of causes that are told, and characters of the whole. */
const MAX_LINKS = 8;
const MAX_CHARACTERS = 16_384;

/**
 * Text of a thrown value for the log: the stacks of all errors in the chain of causes, including the text of causes
 * from workers and engines. Never for clients.
 */
export function exceptionText(thrown: unknown): string {
  const parts: string[] = [];
  let error: unknown = thrown;
  for (let link = 0; link < MAX_LINKS && error !== undefined && error !== null; link++) {
    parts.push(formatStack(error));
    const { cause, cause_, errors } = error as { cause?: unknown; cause_?: unknown; errors?: unknown };
    if (typeof cause_ === 'string' && cause_ !== '') parts.push(cause_);
    if (Array.isArray(errors)) parts.push(...errors.slice(0, MAX_LINKS).map(formatStack));
    error = error instanceof Error ? cause : undefined;
  }
  return parts.join('\ncaused by: ').slice(0, MAX_CHARACTERS);
}

function formatStack(error: unknown): string {
  if (error instanceof Error) return error.stack ?? `${error.name}: ${error.message}`;
  try {
    return `${String(error)} (thrown, and no error)`;
  } catch {
    return 'something without text was thrown';
  }
}
