import { GEOCODING_LIMITS } from '../../core/geocoding/limits.js';

/** Letters without a decomposition, and their replacements. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ð: 'd',
  đ: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
};
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');

/**
 * Returns words in the form for comparison: lower case, without diacritics and marks. The index and the queries use
 * the same form.
 */
export function splitWords(text: string): string[] {
  const folded = text
    .normalize('NFKD')
    .replace(/\p{Mn}+/gu, '')
    .toLowerCase()
    .replace(/['’ʼ]/gu, '')
    .replace(LETTER, (letter) => LETTERS[letter]!);
  const words = folded.match(/[\p{L}\p{N}\p{Mc}]+/gu) ?? [];
  return words.map((word) => word.slice(0, GEOCODING_LIMITS.geocodeWord));
}

/** Whether a word is a house number or postal code, which matches only itself. */
export function hasDigit(word: string): boolean {
  return /\p{N}/u.test(word);
}

/** Returns the maximum number of edits with which a word of this length still matches another word. */
export function countAllowedEdits(word: string): number {
  if (hasDigit(word) || word.length < 4) return 0;
  return word.length < 8 ? 1 : 2;
}

/**
 * Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) between two words;
 * `most` + 1 when there are more.
 */
export function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
      least = Math.min(least, cost);
    }
    // A swap reaches back two rows: both must be beyond.
    if (least > most && Math.min(...last) > most) return most + 1;
    before = last;
    last = row;
  }
  return Math.min(last[b.length]!, most + 1);
}

/**
 * Returns the similarity of two words, from 0 to 1: the share of letters that edits leave unchanged. The start of a
 * word (three letters or more) counts as a half, and the share of the typed letters adds up to another half.
 */
export function likeness(word: string, other: string): number {
  if (word === other) return 1;
  if (hasDigit(word) || hasDigit(other)) return 0;
  const begins = word.length >= 3 && other.startsWith(word) ? 0.5 + (0.5 * word.length) / other.length : 0;
  const most = countAllowedEdits(word);
  const edits = most === 0 ? 1 : editDistance(word, other, most);
  return Math.max(begins, edits > most ? 0 : 1 - edits / Math.max(word.length, other.length));
}
