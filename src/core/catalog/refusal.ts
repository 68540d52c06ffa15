/** Parts of a message about data that is not published, or that is published with a warning. */
export interface RefusalParts {
  readonly reason: string;
  readonly remedy: string | undefined;
}

/** Verbs that start the remedy of a message. */
const REMEDY =
  /(?<=[.!?] )(?=(?:Add|Assign|Change|Choose|Convert|Copy|Correct|Create|Declare|Define|Delete|Download|Export|Give|Grant|Join|Load|Move|Name|Open|Publish|Put|Remove|Rename|Repair|Replace|Run|Save|Send|Set|Store|Translate|Unpack|Use|Write)\b)/;

/** Splits a message into the reason and the remedy. The remedy starts with a verb. */
export function splitRefusal(message: string): RefusalParts {
  const at = REMEDY.exec(message)?.index;
  if (at === undefined) return { reason: message, remedy: undefined };
  return { reason: message.slice(0, at).trimEnd(), remedy: message.slice(at) };
}
