/** Sentences on values that a file or table has in another form than their source. */

/** Names in a sentence. */
const MAX_NAMED = 10;

/** A sentence that ends with names of properties; none where there are no names. */
function noteOf(sentence: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return [`${sentence}: ${names.slice(0, MAX_NAMED).join(', ')}${more}.`];
}

const noteAs = (sentence: string) => (names: readonly string[]) => noteOf(sentence, names);

export const noteTextNumbers = noteAs(
  'Numbers that a column of numbers cannot hold: the values of these properties are text',
);
export const noteRoundedNumbers = noteAs(
  'Numbers are rounded to 64-bit floating point, about 17 digits, in these properties',
);
export const noteShortNumbers = noteAs('Numbers are rounded to 15 digits in these properties');
export const noteTruncatedTimes = noteAs('Times are truncated to milliseconds in these properties');
export const noteTextTimes = noteAs(
  'Times that the format does not have: the values of these properties are text',
);
export const noteTextValues = noteAs(
  'Values of another type than their column: the values of these properties are text',
);
export const noteTruncatedText = noteAs('Text is truncated to 254 bytes in these properties');
export const noteTruncatedNames = noteAs('Names of these properties are truncated to 10 bytes');
