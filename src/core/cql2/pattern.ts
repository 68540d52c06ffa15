/** Returns the `like` pattern that matches exactly a text: its wildcards are escaped. */
export function literalPattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
