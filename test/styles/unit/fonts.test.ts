import { existsSync } from 'node:fs';
import mapnik from '@mapnik/mapnik';
import { describe, expect, it } from 'vitest';
import {
  allFaces,
  DEFAULT_TEXT_FONT,
  hasCodePoints,
  listFontFaces,
  unknownFont,
} from '../../../src/core/styles/fonts.js';
import {
  fontFiles,
  fontPath,
  isInstalled,
  mapnikFaces,
} from '../../../src/workers/styles/symbols/font-files.js';

interface FontRegister {
  registerFonts(path: string): boolean;
  fonts(): string[];
}

describe('the list of fonts', () => {
  it('names files that are there, but for those of a system package', () => {
    const absent = allFaces().filter((face) => !existsSync(fontPath(face)));
    expect(absent.filter(({ file }) => !file.startsWith('/usr/share/'))).toEqual([]);
    expect(allFaces().length).toBeGreaterThan(180);
  });

  it('calls every face as Mapnik does', () => {
    const register = mapnik as unknown as FontRegister;
    for (const file of fontFiles()) expect(register.registerFonts(file), file).toBe(true);
    const known = new Set(register.fonts());
    const names = allFaces()
      .filter(isInstalled)
      .map(({ name }) => name);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('a text-font', () => {
  it('takes Noto Sans for fonts of the same making, whatever the case', () => {
    expect(listFontFaces(['Open Sans Semibold'])[0]?.name).toBe('Noto Sans SemiBold');
    expect(listFontFaces(['arial unicode ms regular'])[0]?.name).toBe('Noto Sans Regular');
    expect(listFontFaces(['Noto Sans Bold Italic'])[0]?.name).toBe('Noto Sans Bold Italic');
    expect(listFontFaces(['DejaVu Serif Regular'])[0]?.name).toBe('DejaVu Serif Book');
  });

  it('is followed by other scripts in its weight, each face once', () => {
    const names = listFontFaces(['Open Sans Bold', 'Arial Unicode MS Bold']).map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(['Noto Sans Bold', 'Noto Sans Arabic Bold']);
    expect(names).toContain('Noto Sans Thai Bold');
    expect(names).toContain('DejaVu Sans Bold');
    expect(new Set(names).size).toBe(names.length);
  });

  it('with a name that is none of ours is told by that name', () => {
    expect(unknownFont(['Noto Sans Regular', 'Comic Sans MS Regular'])).toBe('Comic Sans MS Regular');
    expect(unknownFont(['__proto__'])).toBe('__proto__');
    expect(unknownFont(DEFAULT_TEXT_FONT)).toBeUndefined();
  });

  it('has faces for Mapnik even when nothing of it is known', () => {
    expect(mapnikFaces([])[0]).toBe('Noto Sans Regular');
    expect(mapnikFaces(['nothing'])[0]).toBe('Noto Sans Regular');
  });

  it.each([
    ['Arabic', 0x628],
    ['Hebrew', 0x5d0],
    ['Devanagari', 0x915],
    ['Thai', 0xe01],
    ['Khmer', 0x1780],
    ['Ethiopic', 0x1200],
    ['Georgian', 0x10d0],
  ])('asks the face of %s for its letters', (script, code) => {
    const asked = listFontFaces(DEFAULT_TEXT_FONT).filter(
      (face) => face.blocks && hasCodePoints(face, code, code),
    );
    expect(asked.map(({ name }) => name)).toEqual([`Noto Sans ${script} Regular`]);
  });
});
