import { COMPRESSIONS } from '../../core/http/content-coding.js';
import { contentTag } from '../../core/http/content-tag.js';
import { listFontFaces } from '../../core/styles/fonts.js';
import { STYLE_LIMITS } from '../../core/styles/limits.js';
import type { GlyphTask } from '../../core/styles/symbols.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Glyphs of a font, or a part of a sprite. It is the same as long as the server runs. */
export interface SymbolFile {
  readonly body: Uint8Array;
  readonly mediaType: string;
  readonly encoding: 'gzip' | undefined;
  readonly tag: string;
  /** Response that the API created from the file. It is kept as long as the file. */
  answer: unknown;
}

type SpriteScale = 1 | 2;
type SpritePart = 'json' | 'png';

/** Glyphs and sprites. A separate thread creates each of them once, and they are kept. */
export class Symbols {
  /** In the order of their last use. */
  readonly #ranges = new Map<string, { file: SymbolFile; bytes: number }>();
  readonly #making = new Map<string, Promise<SymbolFile>>();
  readonly #sprites = new Map<SpriteScale, Promise<Record<SpritePart, SymbolFile>>>();
  #bytes = 0;

  constructor(private readonly pools: Pools) {}

  /** A range of glyphs of fonts that are all known. Synchronous when it is kept. */
  glyphs(x: TaskContext, task: GlyphTask): SymbolFile | Promise<SymbolFile> {
    // Different names for the same faces are one range.
    const faces = listFontFaces(task.fonts).map(({ name }) => name);
    const key = `${task.first} ${faces.join()}`;
    const range = this.#ranges.get(key);
    if (!range) return this.#making.get(key) ?? this.#make(x, key, task);
    this.#ranges.delete(key);
    this.#ranges.set(key, range);
    return range.file;
  }

  /** One part of the sprite of all icons. Both parts are created together. */
  async sprite(x: TaskContext, scale: SpriteScale, part: SpritePart): Promise<SymbolFile> {
    let sprite = this.#sprites.get(scale);
    if (!sprite) {
      sprite = this.#makeSprite(x, scale);
      this.#sprites.set(scale, sprite);
      sprite.catch(() => this.#sprites.delete(scale));
    }
    return (await sprite)[part];
  }

  #make(x: TaskContext, key: string, task: GlyphTask): Promise<SymbolFile> {
    const making = runTask(withoutSignal(x), this.pools, 'symbols.glyphs', task).then((body) => {
      const file = newFile(body, 'application/x-protobuf', 'gzip');
      // The size counts each coding, which is created on the first request for it.
      this.#keep(key, file, COMPRESSIONS.length * body.byteLength);
      return file;
    });
    this.#making.set(key, making);
    const done = () => this.#making.delete(key);
    making.then(done, done);
    return making;
  }

  #keep(key: string, file: SymbolFile, bytes: number): void {
    this.#ranges.set(key, { file, bytes });
    this.#bytes += bytes;
    for (const [oldest, { bytes }] of this.#ranges) {
      if (this.#bytes <= STYLE_LIMITS.glyphBytes) return;
      this.#ranges.delete(oldest);
      this.#bytes -= bytes;
    }
  }

  async #makeSprite(x: TaskContext, scale: SpriteScale): Promise<Record<SpritePart, SymbolFile>> {
    const { index, image } = await runTask(withoutSignal(x), this.pools, 'symbols.sprite', { scale });
    return {
      json: newFile(Buffer.from(index), 'application/json'),
      png: newFile(image, 'image/png'),
    };
  }
}

function newFile(body: Uint8Array, mediaType: string, encoding?: 'gzip'): SymbolFile {
  return { body, mediaType, encoding, tag: contentTag(body), answer: undefined };
}

/**
 * The context without its signal. Several clients can wait for one result, so a client that disconnects must not
 * cancel it.
 */
function withoutSignal(x: TaskContext): TaskContext {
  return { span: x.span, caller: x.caller, timing: (stage, ms) => x.timing(stage, ms) };
}
