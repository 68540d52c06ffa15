/** Type of an operand. There are no `instant` properties: a column contains dates or timestamps. */
export type OperandKind =
  | 'string'
  | 'number'
  | 'boolean'
  | 'date'
  | 'timestamp'
  | 'interval'
  | 'geometry'
  | 'array'
  | 'json'
  | 'binary';

interface FunctionArgument {
  name: string;
  kinds: readonly OperandKind[];
  /** Literal integer of at least 0. */
  count?: true;
}

/** A function of the filter language: checking, SQL and the /functions document come from this table. */
export interface FunctionDefinition {
  name: string;
  description: string;
  args: readonly FunctionArgument[];
  /** Number of required arguments. Default: all. */
  least?: number;
  /** The last argument may be repeated. */
  repeats?: true;
  returns: OperandKind;
  /** Other names of the same function. */
  aliases?: readonly string[];
}

const text = (name: string): FunctionArgument => ({ name, kinds: ['string'] });
const number = (name: string): FunctionArgument => ({ name, kinds: ['number'] });
const count = (name: string): FunctionArgument => ({ name, kinds: ['number'], count: true });
const geometry = (name: string): FunctionArgument => ({ name, kinds: ['geometry'] });
const day: FunctionArgument = { name: 'instant', kinds: ['date', 'timestamp'] };
const time: FunctionArgument = { name: 'instant', kinds: ['timestamp'] };

export const FUNCTIONS: readonly FunctionDefinition[] = [
  { name: 'upper', description: 'The text in upper case.', args: [text('text')], returns: 'string' },
  { name: 'lower', description: 'The text in lower case.', args: [text('text')], returns: 'string' },
  {
    name: 'length',
    description: 'The number of characters (Unicode code points) of the text.',
    args: [text('text')],
    returns: 'number',
    aliases: ['char_length', 'character_length'],
  },
  {
    name: 'trim',
    description: 'The text without spaces (U+0020) at its start and end.',
    args: [text('text')],
    returns: 'string',
  },
  {
    name: 'concat',
    description: 'The texts one after the other; null when one of them is.',
    args: [text('text')],
    least: 2,
    repeats: true,
    returns: 'string',
  },
  {
    name: 'substring',
    description: 'Substring from a character position (counted from 1) with at most this length.',
    args: [text('text'), count('start'), count('length')],
    least: 2,
    returns: 'string',
    aliases: ['substr'],
  },
  {
    name: 'startswith',
    description: 'Whether the string starts with another string.',
    args: [text('text'), text('start')],
    returns: 'boolean',
    aliases: ['starts_with'],
  },
  {
    name: 'endswith',
    description: 'Whether the text ends with another.',
    args: [text('text'), text('end')],
    returns: 'boolean',
    aliases: ['ends_with'],
  },
  {
    name: 'contains',
    description: 'Whether another text is part of the text.',
    args: [text('text'), text('part')],
    returns: 'boolean',
  },
  {
    name: 'abs',
    description: 'The number without its sign.',
    args: [number('number')],
    returns: 'number',
  },
  {
    name: 'floor',
    description: 'Largest integer that is not greater than the number.',
    args: [number('number')],
    returns: 'number',
  },
  {
    name: 'ceil',
    description: 'Smallest integer that is not less than the number.',
    args: [number('number')],
    returns: 'number',
    aliases: ['ceiling'],
  },
  {
    name: 'round',
    description: 'Nearest integer; halves are rounded away from zero.',
    args: [number('number')],
    returns: 'number',
  },
  {
    name: 'sqrt',
    description: 'The square root; null for negative numbers.',
    args: [number('number')],
    returns: 'number',
  },
  {
    name: 'mod',
    description: 'The remainder of a division, with the sign of the dividend; null when divided by zero.',
    args: [number('dividend'), number('divisor')],
    returns: 'number',
  },
  {
    name: 'power',
    description: 'Base raised to the exponent; null if the result is not a real number or is too large.',
    args: [number('base'), number('exponent')],
    returns: 'number',
    aliases: ['pow'],
  },
  { name: 'year', description: 'The year of an instant, in UTC.', args: [day], returns: 'number' },
  {
    name: 'month',
    description: 'The month of an instant (1 to 12), in UTC.',
    args: [day],
    returns: 'number',
  },
  { name: 'day', description: 'The day of the month of an instant, in UTC.', args: [day], returns: 'number' },
  {
    name: 'hour',
    description: 'The hour of a timestamp (0 to 23), in UTC.',
    args: [time],
    returns: 'number',
  },
  { name: 'minute', description: 'The minute of a timestamp.', args: [time], returns: 'number' },
  {
    name: 'second',
    description: 'The second of a timestamp, with its fraction.',
    args: [time],
    returns: 'number',
  },
  { name: 'now', description: 'The time at which the filter is evaluated.', args: [], returns: 'timestamp' },
  {
    name: 'geodistance',
    description: 'The shortest distance between two geometries in metres.',
    args: [geometry('a'), geometry('b')],
    returns: 'number',
  },
];

const BY_NAME = new Map(
  FUNCTIONS.flatMap((definition) =>
    [definition.name, ...(definition.aliases ?? [])].map((name) => [name, definition] as const),
  ),
);

/** The function of that name, however its letters are cased. */
export function functionNamed(name: string): FunctionDefinition | undefined {
  return BY_NAME.get(name.toLowerCase());
}
