/** What is in a room, and the rooms of the same layer that it uses. */
export interface Room {
  readonly holds: string;
  readonly uses: readonly string[];
}
/** Rooms by their names, by layers. */
export type Rooms = Readonly<Record<string, Readonly<Record<string, Room>>>>;
/** What is wrong with files: texts by their paths, and the table of rooms (test/layers/rooms.mjs by default). */
export function faults(texts: ReadonlyMap<string, string>, rooms?: Rooms): string[];
/** The layers and their arrows, as Mermaid. */
export function picture(texts: ReadonlyMap<string, string>): string;
/** The rooms of each layer, as Markdown. */
export function roomTable(rooms?: Rooms): string;
/** The files of src, texts by their paths. */
export function sources(): Map<string, string>;
