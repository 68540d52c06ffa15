/** What is wrong with files: texts by their paths. */
export function faults(texts: ReadonlyMap<string, string>): string[];
/** The layers and their arrows, as Mermaid. */
export function picture(texts: ReadonlyMap<string, string>): string;
/** The files of src, texts by their paths. */
export function sources(): Map<string, string>;
