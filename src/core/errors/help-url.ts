/** URL of the section of the manual about an error. */
export function errorHelpUrl(baseUrl: string, code: string): string {
  return `${baseUrl}/manual/reference/server/errors#${code}`;
}
