/** The pattern of `like` that a text itself is: its wildcards stand for themselves. */
export function literalPattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
