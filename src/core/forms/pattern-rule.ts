const MAX_PATTERN = 200;
/** Repetitions of variable length in a pattern. The time of a search grows with the length of the text to this power. */
const MAX_REPETITIONS = 3;

/**
 * Compiles the pattern of a rule, which must match the whole text. Returns an error text if the pattern is not
 * allowed. A search must not take exponential time, so a repetition cannot contain another repetition or an
 * alternative, and back references and look-around are refused.
 */
export function compilePatternRule(pattern: unknown): RegExp | string {
  if (typeof pattern !== 'string' || pattern === '' || pattern.length > MAX_PATTERN)
    return `The rule pattern needs a 'pattern' of 1 to ${MAX_PATTERN} characters.`;
  if (/\\[1-9k]/.test(pattern)) return 'The pattern has a back reference, which is not allowed.';
  if (/\(\?(?!:)/.test(pattern))
    return 'The pattern has a look-around or a named group, which are not allowed.';
  if (hasNestedRepetition(pattern))
    return 'The pattern repeats a group with a repetition or an alternative in it, which can take too long.';
  if ((withoutLiterals(pattern).match(/[*+]|\{\d*,\d*\}/g) ?? []).length > MAX_REPETITIONS)
    return `The pattern has more than ${MAX_REPETITIONS} repetitions of variable length.`;
  try {
    return new RegExp(`^(?:${pattern})$`, 'u');
  } catch {
    return `'${pattern}' is not a regular expression.`;
  }
}

/** Whether a group that is repeated contains a repetition or an alternative. */
function hasNestedRepetition(pattern: string): boolean {
  const plain = withoutLiterals(pattern);
  const groups: boolean[] = [];
  let lastGroup = false;
  for (let at = 0; at < plain.length; at++) {
    const character = plain[at]!;
    const isRepetition = '*+{'.includes(character) || (character === '?' && plain[at - 1] !== '(');
    if (character === '(') groups.push(false);
    else if (character === ')') lastGroup = groups.pop() ?? false;
    else if (isRepetition && plain[at - 1] === ')' && character !== '?' && lastGroup) return true;
    if ((isRepetition && character !== '?') || character === '|') groups.fill(true);
    if (character === ')' && lastGroup) groups.fill(true);
  }
  return false;
}

/** The pattern with `a` for each escaped character and each class. */
const withoutLiterals = (pattern: string) => pattern.replace(/\\./g, 'a').replace(/\[[^\]]*\]/g, 'a');
