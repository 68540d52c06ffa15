import { badParameter, notFound } from '../../core/errors/errors.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Param,
  type Reply,
} from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import { MAX_FONTS, unknownFont } from '../../core/styles/fonts.js';
import type { SymbolFile, Symbols } from '../../services/styles/symbols.js';

const RANGE = 256;
const LAST_CODE_POINT = 0x10ffff;

const fontstack = {
  ...pathString('fontstack', 'Names of fonts, with commas: `Noto Sans Regular`.'),
  parse(raw: string | undefined): readonly string[] {
    const fonts = (raw ?? '').split(',').map((name) => name.trim());
    if (fonts.length > MAX_FONTS) throw badParameter('fontstack', `must have at most ${MAX_FONTS} names`);
    // Styles name fonts in the order of their preference.
    const known = fonts.filter((name) => unknownFont([name]) === undefined);
    if (known.length === 0) throw notFound('font', fonts.join(', ').slice(0, 100));
    return known;
  },
};

/** First code point of `256-511.pbf`. */
const range = {
  ...pathString('range', 'First and last of 256 code points, and `.pbf`: `0-255.pbf`.'),
  parse(raw: string | undefined): number {
    const [, from, to] = /^(\d{1,7})-(\d{1,7})(?:\.pbf)?$/.exec(raw ?? '') ?? [];
    const first = Number(from);
    if (
      to === undefined ||
      first % RANGE !== 0 ||
      Number(to) !== first + RANGE - 1 ||
      first > LAST_CODE_POINT
    )
      throw badParameter('range', 'must be a range of 256 code points, for example 0-255.pbf or 256-511.pbf');
    return first;
  },
};

/** The one sprite, at one of its sizes, and which part of it. */
function parseSprite(title: string) {
  return {
    ...pathString(
      'sprite',
      `\`${title}.json\`, \`${title}.png\`, \`${title}@2x.json\` or \`${title}@2x.png\`.`,
    ),
    parse(raw: string | undefined) {
      const [, name, twice, part] = /^([^.@]+)(@2x)?\.(json|png)$/.exec(raw ?? '') ?? [];
      if (name !== title) throw notFound('sprite', (raw ?? '').slice(0, 100));
      return { scale: twice ? 2 : 1, part: part as 'json' | 'png' } as const;
    },
  };
}

/** A path at which symbols are served. */
export interface SymbolPlace {
  readonly about: Pick<Operation, 'surface' | 'protocol' | 'permission' | 'method' | 'tag'> &
    Partial<Pick<Operation, 'openQuery' | 'failure'>>;
  /** Prefix of the operation ids. */
  readonly ids: string;
  readonly path: string;
  /** Parameters of the path. */
  readonly params: Record<string, Param<string>>;
  readonly sprite: string;
  /** Throws if the caller may not access this path. */
  readonly require?: (x: Pick<Exchange, 'principal' | 'params'>) => void;
}

/** Fonts and icons change with the server only: a week, and then a look whether they did. */
const CACHE_CONTROL = 'public, max-age=604800, stale-while-revalidate=86400';

/** The reply that every request for the file gets. */
function symbolReply(file: SymbolFile): Reply {
  return (file.answer ??= newReply(file)) as Reply;
}

function newReply({ body, mediaType, encoding, tag: etag }: SymbolFile): Reply {
  const constant = { block: undefined, isStatic: true };
  return { status: 200, mediaType, body, encoding, etag, cacheControl: CACHE_CONTROL, constant };
}

/** Operations for the files that MapLibre clients load with a style: glyphs of fonts, and icons. */
export function symbolOperations(symbols: Symbols, place: SymbolPlace): Operation[] {
  const { about, ids, path, params } = place;
  return [
    defineOperation({
      ...about,
      id: `${ids}.getGlyphs`,
      path: `${path}/fonts/{fontstack}/{range}`,
      summary: 'Glyphs of a font',
      description: 'Fields of distances in the glyph format of MapLibre styles (`glyphs`).',
      params: { ...params, fontstack, range },
      responses: {
        200: { description: 'Glyphs', content: { 'application/x-protobuf': null } },
        400: { description: 'The range does not exist' },
        404: { description: 'The font does not exist' },
      },
      run(x) {
        place.require?.(x);
        const file = symbols.glyphs(x, { fonts: x.params.fontstack, first: x.params.range });
        return file instanceof Promise ? file.then(symbolReply) : symbolReply(file);
      },
    }),
    defineOperation({
      ...about,
      id: `${ids}.getSprite`,
      path: `${path}/sprites/{sprite}`,
      summary: 'Icons',
      description: 'Index or image of the icons, for `sprite` in MapLibre styles.',
      params: { ...params, sprite: parseSprite(place.sprite) },
      responses: {
        200: { description: 'Index or image', content: { 'application/json': null, 'image/png': null } },
        404: { description: 'The sprite does not exist' },
      },
      async run(x) {
        place.require?.(x);
        return symbolReply(await symbols.sprite(x, x.params.sprite.scale, x.params.sprite.part));
      },
    }),
  ];
}
