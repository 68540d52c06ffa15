/**
 * Tables for case folding and removal of diacritics. The functions of the stores differ (SQLite: only ASCII;
 * PostgreSQL: by locale), so both use these tables, and literals are converted here.
 */
export interface Fold {
  /** Letters that change, and at the same place what they become; those beyond the end of `to` are removed. */
  readonly from: string;
  readonly to: string;
  /** Letters that become several, replaced afterwards. */
  readonly several: readonly (readonly [letter: string, letters: string])[];
}

export type FoldName = 'casei' | 'accenti' | 'upper' | 'lower';

const folds = new Map<FoldName, Fold>();

/** The table of an operator; made once, at its first use. */
export function getFoldTable(name: FoldName): Fold {
  let fold = folds.get(name);
  if (!fold) {
    fold = MAKERS[name]();
    folds.set(name, fold);
  }
  return fold;
}

/** Text with a fold applied, as the stores apply it. */
export function folded(text: string, name: FoldName): string {
  const { several } = getFoldTable(name);
  const letters = getLetters(name);
  const single = Array.from(text, (letter) => letters.get(letter) ?? letter).join('');
  return several.reduce((result, [letter, replacement]) => result.replaceAll(letter, replacement), single);
}

const maps = new Map<FoldName, Map<string, string>>();

function getLetters(name: FoldName): Map<string, string> {
  let letters = maps.get(name);
  if (!letters) {
    const { from, to } = getFoldTable(name);
    const targets = Array.from(to);
    letters = new Map(Array.from(from, (letter, i) => [letter, targets[i] ?? '']));
    maps.set(name, letters);
  }
  return letters;
}

const MAKERS: Record<FoldName, () => Fold> = {
  // Simple case folding of Unicode, and the sharp s. The dotless i stays what it is outside of Turkish.
  casei: () => buildTable((letter) => (letter === 'ı' ? letter : lower(upper(letter))), [['ß', 'ss']]),
  accenti: () => buildTable(withoutAccents, LIGATURES),
  upper: () => buildTable(upper, []),
  lower: () => buildTable(lower, []),
};

/** Letters beyond this have neither case nor accents. */
const LAST_LETTER = 0x1e943;

/**
 * Most frequent letters first, because PostgreSQL searches the table sequentially: lower case letters and digits,
 * then the rest of ASCII and the letters of western Europe.
 */
const FREQUENT = ' abcdefghijklmnopqrstuvwxyz0123456789';
const COMMON = 0x17f;

function buildTable(change: (letter: string) => string, several: Fold['several']): Fold {
  const pairs: [string, string][] = [];
  const removed: string[] = [];
  for (let code = 0x20; code <= LAST_LETTER; code++) {
    if (code >= 0x2e80 && code <= 0xa63f) continue;
    if (code >= 0xac00 && code <= 0xfaff) continue;
    const letter = String.fromCodePoint(code);
    const changed = change(letter);
    if (changed === '') removed.push(letter);
    else if (changed !== letter || code <= COMMON) pairs.push([letter, changed]);
  }
  const rank = (letter: string) => (FREQUENT.includes(letter) ? 0 : 1);
  pairs.sort(([a], [b]) => rank(a) - rank(b));
  return {
    from: [...pairs.map(([letter]) => letter), ...removed].join(''),
    to: pairs.map(([, changed]) => changed).join(''),
    several,
  };
}

const isOne = (text: string) => text.length === (text.codePointAt(0)! > 0xffff ? 2 : 1);

/** The letter that another becomes; itself when it would become several. */
function upper(letter: string): string {
  const changed = letter.toUpperCase();
  return isOne(changed) ? changed : letter;
}

function lower(letter: string): string {
  const changed = letter.toLowerCase();
  return isOne(changed) ? changed : letter;
}

/** Combining marks of alphabets. Marks of other scripts (such as U+3099 of kana) form other letters. */
const MARKS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/g;

const STROKES: Record<string, string> = Object.fromEntries(
  ['øo', 'ØO', 'đd', 'ĐD', 'ðd', 'ÐD', 'łl', 'ŁL', 'ħh', 'ĦH', 'ŧt', 'ŦT', 'ıi', 'ƀb', 'ɨi', 'ƗI'].map(
    ([letter, plain]) => [letter, plain],
  ),
);

const LIGATURES: Fold['several'] = [
  ['æ', 'ae'],
  ['Æ', 'AE'],
  ['œ', 'oe'],
  ['Œ', 'OE'],
  ['ß', 'ss'],
  ['þ', 'th'],
  ['Þ', 'TH'],
];

function withoutAccents(letter: string): string {
  const plain = letter.normalize('NFD').replace(MARKS, '');
  if (plain === '') return '';
  return isOne(plain) ? (STROKES[plain] ?? plain) : letter;
}
