/**
 * Column names as XML names (NCName), reversibly: a character that XML or its older character tables do not allow
 * becomes `_xHHHH_` (six digits beyond U+FFFF), and so does a `_` that would be read as the start of such an escape.
 * This is the rule of SQL/XML (ISO 9075-14).
 */

/** Letters beyond ASCII that XML 1.0 has taken since its first edition. */
const LETTERS =
  '\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0131\u0134-\u013e\u0141-\u0148\u014a-\u017e\u0391-\u03a1\u03a3-\u03ce' +
  '\u0401-\u040c\u040e-\u044f\u0451-\u045c\u0490-\u04c4\u05d0-\u05ea\u0621-\u063a\u0641-\u064a\u0e01-\u0e2e' +
  '\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3';

const START = new RegExp(`[A-Za-z_${LETTERS}]`, 'u');
const PART = new RegExp(`[A-Za-z0-9_.\\-${LETTERS}]`, 'u');

/** The XML name of a column; no two columns have the same. */
export function xmlName(name: string): string {
  let encoded = '';
  for (let i = 0; i < name.length; ) {
    const code = name.codePointAt(i)!;
    const character = String.fromCodePoint(code);
    const plain = (i === 0 ? START : PART).test(character) && !(code === 0x5f && name[i + 1] === 'x');
    encoded += plain ? character : escaped(code);
    i += character.length;
  }
  return encoded === '' ? '_' : encoded;
}

/** The column that has this XML name. */
export function decodeXmlName(encoded: string): string {
  return encoded.replace(/_x([0-9A-F]{6}|[0-9A-F]{4})_/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 16)),
  );
}

function escaped(code: number): string {
  const digits = code.toString(16).toUpperCase();
  return `_x${digits.padStart(code > 0xffff ? 6 : 4, '0')}_`;
}
