import type { Argument, Command, Option } from 'commander';

const HEAD = `# Command line

This page lists the commands of \`graticule\`, their arguments and their options. In a checkout, \`./run serve -- ARGUMENTS\` starts \`serve\`, and \`./run COMMAND ARGUMENTS\` the other commands. \`graticule COMMAND --help\` prints the same text.

Generated from \`src/cli/main.ts\` by \`node dist/cli/main.js reference\`.

| command | meaning |
|---|---|
`;

/** Prints docs/reference/server/command-line.md, of a program and its commands. */
export function referencePrinter(program: Command): () => void {
  return () => {
    const commands = program.commands.flatMap((command) => listCommands(command, ''));
    const rows = commands.map(
      ({ name, command }) =>
        `| [${name}](#${name.replaceAll(' ', '-')}) | ${cell(command.description())} |\n`,
    );
    process.stdout.write(HEAD + rows.join('') + commands.map(renderCommand).join(''));
  };
}

interface NamedCommand {
  /** With the names of the commands that it belongs to: `state backup`. */
  readonly name: string;
  readonly command: Command;
}

/** Commands that can be called: without groups of commands, and without hidden commands. */
function listCommands(command: Command, group: string): NamedCommand[] {
  const name = `${group}${command.name()}`;
  if (command.commands.length > 0) return command.commands.flatMap((one) => listCommands(one, `${name} `));
  return name === 'reference' ? [] : [{ name, command }];
}

function renderCommand({ name, command }: NamedCommand): string {
  const { registeredArguments, options } = command;
  return `
## ${name}

${sentence(command.description())}

\`\`\`
graticule ${name} ${command.usage()}
\`\`\`
${renderTable('argument', registeredArguments.map(argumentRow))}${renderTable('option', options.map(optionRow))}`;
}

function renderTable(what: string, rows: readonly string[]): string {
  return rows.length > 0 ? `\n| ${what} | meaning |\n|---|---|\n${rows.join('')}` : '';
}

const argumentRow = (argument: Argument) =>
  `| \`${argument.name()}\`${argument.required ? '' : ' (optional)'} | ${cell(argument.description)} |\n`;

const optionRow = ({ flags, description, mandatory }: Option) =>
  `| \`${flags}\`${mandatory ? ' (required)' : ''} | ${cell(description)} |\n`;

const cell = (text: string) => sentence(text).replaceAll('|', '\\|').replaceAll('<', '&lt;');

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return whole === '' || /[.?!]$/.test(whole) ? whole : `${whole}.`;
}
