/** Parts of the text of virtual rasters. */

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);

export const numberText = (value: number) => (Number.isNaN(value) ? 'nan' : String(value));
