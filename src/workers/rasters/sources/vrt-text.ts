/** Parts of the text of virtual rasters. The server writes these texts itself and refuses VRT files. */

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escapeVrtText = (text: string) => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);

/** Escapes text for XML, which does not allow control characters. */
export const elementText = (text: string) => escapeVrtText(text.replace(/\p{Cc}/gu, ' '));

export const formatVrtNumber = (value: number) => (Number.isNaN(value) ? 'nan' : String(value));
