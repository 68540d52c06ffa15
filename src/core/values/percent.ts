/** Decodes percent-encoding (RFC 3986, 2.1). Text with invalid encoding is returned unchanged. */
export function plainText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
