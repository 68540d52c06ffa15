/** URL of the manual section that describes an error. */
export function errorHelpUrl(baseUrl: string, code: string): string {
  return `${baseUrl}/manual/reference/server/errors#${code}`;
}
