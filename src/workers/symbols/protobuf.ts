/** Writes the few kinds of protocol buffer fields that glyphs have. */
export class ProtobufWriter {
  readonly #parts: Uint8Array[] = [];
  #scalars: number[] = [];

  uint(field: number, value: number): this {
    return this.#varint(field << 3).#varint(value);
  }

  /** Zigzag, as `sint32`. */
  sint(field: number, value: number): this {
    return this.uint(field, value < 0 ? -2 * value - 1 : 2 * value);
  }

  bytes(field: number, value: Uint8Array): this {
    this.#varint((field << 3) | 2).#varint(value.byteLength);
    this.#parts.push(Uint8Array.from(this.#scalars), value);
    this.#scalars = [];
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  finish(): Uint8Array {
    return Buffer.concat([...this.#parts, Uint8Array.from(this.#scalars)]);
  }

  #varint(value: number): this {
    let rest = value;
    while (rest > 127) {
      this.#scalars.push((rest & 127) | 128);
      rest >>>= 7;
    }
    this.#scalars.push(rest);
    return this;
  }
}
