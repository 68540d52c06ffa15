/**
 * The single list of fonts for labels, for Mapnik and for MapLibre glyphs. The names are those in `text-font` of
 * MapLibre styles, and also the face names in Mapnik.
 */

/** One font file. */
export interface FontFace {
  /** Name of family and style as the file itself has it: `Noto Sans Arabic Bold`. */
  readonly name: string;
  /** A file of a package (`@scope/name/path`), or an absolute path of the system where it may be missing. */
  readonly file: string;
  /** First and last code points for which this face is used; all code points if absent. */
  readonly blocks?: readonly (readonly [first: number, last: number])[];
}

const NOTO_PACKAGES = '@expo-google-fonts/';

/** Whether the build copies the font file from its package to `dist/fonts`. */
export function isBuiltFace({ file }: FontFace): boolean {
  return file.startsWith(NOTO_PACKAGES);
}

type Blocks = NonNullable<FontFace['blocks']>;

/** Code points beyond Latin, Greek and Cyrillic, which Noto Sans itself has, by the script's name in family and package. */
const SCRIPTS: Readonly<Record<string, Blocks>> = {
  Arabic: [
    [0x600, 0x6ff],
    [0x750, 0x77f],
    [0x870, 0x8ff],
    [0xfb50, 0xfdff],
    [0xfe70, 0xfeff],
  ],
  Hebrew: [
    [0x590, 0x5ff],
    [0xfb1d, 0xfb4f],
  ],
  Armenian: [
    [0x530, 0x58f],
    [0xfb13, 0xfb17],
  ],
  Georgian: [
    [0x10a0, 0x10ff],
    [0x1c90, 0x1cbf],
    [0x2d00, 0x2d2f],
  ],
  Devanagari: [
    [0x900, 0x97f],
    [0xa8e0, 0xa8ff],
  ],
  Bengali: [[0x980, 0x9ff]],
  Gurmukhi: [[0xa00, 0xa7f]],
  Gujarati: [[0xa80, 0xaff]],
  Tamil: [[0xb80, 0xbff]],
  Telugu: [[0xc00, 0xc7f]],
  Kannada: [[0xc80, 0xcff]],
  Malayalam: [[0xd00, 0xd7f]],
  Sinhala: [[0xd80, 0xdff]],
  Thai: [[0xe00, 0xe7f]],
  Lao: [[0xe80, 0xeff]],
  Myanmar: [
    [0x1000, 0x109f],
    [0xa9e0, 0xa9ff],
    [0xaa60, 0xaa7f],
  ],
  Ethiopic: [
    [0x1200, 0x139f],
    [0x2d80, 0x2ddf],
    [0xab00, 0xab2f],
  ],
  Khmer: [
    [0x1780, 0x17ff],
    [0x19e0, 0x19ff],
  ],
};

/** Names of weights, and how the packages number them. */
const WEIGHTS: Readonly<Record<string, number>> = {
  Thin: 100,
  ExtraLight: 200,
  Light: 300,
  Regular: 400,
  Medium: 500,
  SemiBold: 600,
  Bold: 700,
  ExtraBold: 800,
  Black: 900,
};

const SANS = 'Noto Sans';
/** Font families that many styles name. Noto Sans, which is derived from Open Sans, replaces them. */
const TAKEN_FOR_NOTO = [
  'Open Sans',
  'Arial Unicode MS',
  'Arial',
  'Helvetica',
  'Roboto',
  'Klokantech Noto Sans',
];

/** Styles of the DejaVu families that Mapnik brings along, by the end of their files' names. */
const DEJAVU: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'DejaVu Sans': {
    Book: 'Sans',
    Bold: 'Sans-Bold',
    Oblique: 'Sans-Oblique',
    'Bold Oblique': 'Sans-BoldOblique',
    Condensed: 'SansCondensed',
    'Condensed Bold': 'SansCondensed-Bold',
  },
  'DejaVu Serif': {
    Book: 'Serif',
    Bold: 'Serif-Bold',
    Italic: 'Serif-Italic',
    'Bold Italic': 'Serif-BoldItalic',
  },
  'DejaVu Sans Mono': {
    Book: 'SansMono',
    Bold: 'SansMono-Bold',
    Oblique: 'SansMono-Oblique',
    'Bold Oblique': 'SansMono-BoldOblique',
  },
};

/** Chinese and Japanese: Debian's package fonts-droid-fallback, far too large for an npm package. */
export const EAST_ASIAN_FACE: FontFace = {
  name: 'Droid Sans Fallback Regular',
  file: '/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf',
  blocks: [
    [0x2e80, 0x9fff],
    [0xf900, 0xfaff],
    [0xfe30, 0xfe4f],
    [0xff00, 0xffef],
  ],
};

function notoFace(script: string | undefined, weight: string, italic: boolean): FontFace {
  const family = script ? `${SANS} ${script}` : SANS;
  const style = italic ? (weight === 'Regular' ? 'Italic' : `${weight} Italic`) : weight;
  const number = `${WEIGHTS[weight]}${weight}${italic ? '_Italic' : ''}`;
  const scope = `${NOTO_PACKAGES}${family.toLowerCase().replaceAll(' ', '-')}`;
  const file = `${scope}/${number}/${family.replaceAll(' ', '')}_${number}.ttf`;
  return { name: `${family} ${style}`, file, ...(script ? { blocks: SCRIPTS[script]! } : {}) };
}

function dejaVuFace(family: string, style: string): FontFace {
  const file = `@mapnik/mapnik/lib/mapnik/fonts/DejaVu${DEJAVU[family]![style]}.ttf`;
  return { name: `${family} ${style}`, file };
}

const SCRIPT_NAMES = Object.keys(SCRIPTS);
const WEIGHT_NAMES = Object.keys(WEIGHTS);

/** A face that styles may name, and the faces that have the characters that it lacks. */
interface Choice {
  readonly face: FontFace;
  readonly fallbacks: readonly FontFace[];
}

/** Faces of other scripts in about the same weight. Slanted letters are a custom of Latin, Greek and Cyrillic. */
function listFallbacks(weight: string): FontFace[] {
  const bold = WEIGHTS[weight]! >= WEIGHTS['SemiBold']!;
  const scripts = SCRIPT_NAMES.map((script) => notoFace(script, weight, false));
  return [...scripts, dejaVuFace('DejaVu Sans', bold ? 'Bold' : 'Book'), EAST_ASIAN_FACE];
}

const CHOICES: ReadonlyMap<string, Choice> = new Map(choices());

function* choices(): Generator<[key: string, Choice]> {
  for (const weight of WEIGHT_NAMES) {
    const fallbacks = listFallbacks(weight);
    for (const face of [notoFace(undefined, weight, false), notoFace(undefined, weight, true)]) {
      for (const name of listNames(face.name)) yield [faceKey(name), { face, fallbacks }];
    }
    for (const face of fallbacks.slice(0, SCRIPT_NAMES.length))
      yield [faceKey(face.name), { face, fallbacks }];
  }
  for (const family of Object.keys(DEJAVU)) {
    for (const style of Object.keys(DEJAVU[family]!)) {
      const face = dejaVuFace(family, style);
      const fallbacks = listFallbacks(style.includes('Bold') ? 'Bold' : 'Regular');
      for (const name of [face.name, face.name.replace(/Book$/, 'Regular')])
        yield [faceKey(name), { face, fallbacks }];
    }
  }
  yield [faceKey(EAST_ASIAN_FACE.name), { face: EAST_ASIAN_FACE, fallbacks: listFallbacks('Regular') }];
}

function listNames(name: string): string[] {
  return [name, ...TAKEN_FOR_NOTO.map((family) => name.replace(SANS, family))];
}

/** `Open Sans Semibold` and `Open Sans SemiBold` are one. */
function faceKey(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '');
}

/** Font of styles that name none (the default of the MapLibre style specification). */
export const DEFAULT_TEXT_FONT: readonly string[] = ['Open Sans Regular', 'Arial Unicode MS Regular'];
/** Names in one `text-font`. */
export const MAX_FONTS = 8;

/** The first unknown font name in a `text-font`; undefined if all are known. */
export function unknownFont(textFont: readonly string[]): string | undefined {
  return textFont.find((name) => !CHOICES.has(faceKey(name)));
}

/**
 * Faces for a `text-font`, in order of preference for each character: first the named faces, then faces of other
 * scripts in the weight of the first one. Unknown names are omitted.
 */
export function listFontFaces(textFont: readonly string[]): FontFace[] {
  const fonts = textFont.slice(0, MAX_FONTS).flatMap((name) => CHOICES.get(faceKey(name)) ?? []);
  const named = fonts.map(({ face }) => face);
  const byName = new Map([...named, ...(fonts[0]?.fallbacks ?? [])].map((face) => [face.name, face]));
  return [...byName.values()];
}

/** Whether a face covers any character in a range of code points. */
export function hasCodePoints({ blocks }: FontFace, first: number, last: number): boolean {
  return blocks === undefined || blocks.some(([from, to]) => from <= last && to >= first);
}

/** Every face, in no order. */
export function allFaces(): FontFace[] {
  const every = [...CHOICES.values()].flatMap(({ face, fallbacks }) => [face, ...fallbacks]);
  return [...new Map(every.map((face) => [face.name, face])).values()];
}
