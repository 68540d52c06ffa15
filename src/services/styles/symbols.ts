import { COMPRESSIONS } from '../../core/http/content-coding.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { Reply } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import { facesOf } from '../../core/styles/fonts.js';
import type { GlyphTask } from '../../core/styles/symbols.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Fonts and icons change with the server only: a week, and then a look whether they did. */
const CACHE_CONTROL = 'public, max-age=604800, stale-while-revalidate=86400';

type SpriteScale = 1 | 2;
type SpritePart = 'json' | 'png';

/** Answers with glyphs and sprites: made once, by a thread of their own, and kept. */
export class Symbols {
  /** In the order of their last use. */
  readonly #ranges = new Map<string, { reply: Reply; bytes: number }>();
  readonly #making = new Map<string, Promise<Reply>>();
  readonly #sprites = new Map<SpriteScale, Promise<Record<SpritePart, Reply>>>();
  #bytes = 0;

  constructor(private readonly pools: Pools) {}

  /** A range of glyphs of fonts that are all known. Synchronous when it is kept. */
  glyphs(x: TaskContext, task: GlyphTask): Reply | Promise<Reply> {
    // Different names for the same faces are one range.
    const faces = facesOf(task.fonts).map(({ name }) => name);
    const key = `${task.first} ${faces.join()}`;
    const range = this.#ranges.get(key);
    if (!range) return this.#making.get(key) ?? this.#make(x, key, task);
    this.#ranges.delete(key);
    this.#ranges.set(key, range);
    return range.reply;
  }

  /** One part of the sprite of all icons. Both are made together. */
  async sprite(x: TaskContext, scale: SpriteScale, part: SpritePart): Promise<Reply> {
    let sprite = this.#sprites.get(scale);
    if (!sprite) {
      sprite = this.#makeSprite(x, scale);
      this.#sprites.set(scale, sprite);
      sprite.catch(() => this.#sprites.delete(scale));
    }
    return (await sprite)[part];
  }

  #make(x: TaskContext, key: string, task: GlyphTask): Promise<Reply> {
    const answer = runTask(withoutSignal(x), this.pools, 'symbols.glyphs', task).then((body) => {
      const reply = { ...replyOf(body, 'application/x-protobuf'), encoding: 'gzip' } as const;
      // In each coding, once it is asked for.
      this.#keep(key, reply, COMPRESSIONS.length * body.byteLength);
      return reply;
    });
    this.#making.set(key, answer);
    const done = () => this.#making.delete(key);
    answer.then(done, done);
    return answer;
  }

  #keep(key: string, reply: Reply, bytes: number): void {
    this.#ranges.set(key, { reply, bytes });
    this.#bytes += bytes;
    for (const [oldest, { bytes }] of this.#ranges) {
      if (this.#bytes <= LIMITS.glyphBytes) return;
      this.#ranges.delete(oldest);
      this.#bytes -= bytes;
    }
  }

  async #makeSprite(x: TaskContext, scale: SpriteScale): Promise<Record<SpritePart, Reply>> {
    const { index, image } = await runTask(withoutSignal(x), this.pools, 'symbols.sprite', { scale });
    return {
      json: replyOf(Buffer.from(index), 'application/json'),
      png: replyOf(image, 'image/png'),
    };
  }
}

function replyOf(body: Uint8Array, mediaType: string): Reply {
  const constant = { block: undefined, isStatic: true };
  return { status: 200, mediaType, body, etag: contentTag(body), cacheControl: CACHE_CONTROL, constant };
}

/** Several clients may wait for one answer, so none of them may cancel it by going away. */
function withoutSignal(x: TaskContext): TaskContext {
  return { span: x.span, caller: x.caller, timing: (stage, ms) => x.timing(stage, ms) };
}
