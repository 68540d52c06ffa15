/** Reads the sentences that stand in TypeScript: comments, descriptions, errors, logs, command line and pages. */
import { parseSync } from 'oxc-parser';
import { countWords, MAX_WORDS, splitSentences } from './markers.mjs';

const ERROR_CALLS =
  /^(?:ApiError|badParameter|notFound|refuse\w*|refused|conflict|unprocessable|problem|memberProblem|UsageError|\w+Error)$/;

/** Text of a literal; what a template puts in counts as one word. */
function textOfLiteral(node) {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked).join('X');
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const [left, right] = [textOfLiteral(node.left), textOfLiteral(node.right)];
    return left === undefined || right === undefined ? undefined : left + right;
  }
  return undefined;
}

const readName = ({ type, name, property, value }) => {
  if (type === 'Identifier') return name;
  return type === 'MemberExpression' ? property.name : String(value ?? '');
};

/** What a text is for, by the call or the member that it stands in; undefined if no person reads it. */
function purpose(parents, child, path) {
  const isLog = path === 'src/core/kit/log-events.ts';
  let below = child;
  for (const at of parents.toReversed()) {
    if (at.type === 'BlockStatement' || at.type.endsWith('FunctionExpression')) break;
    if (at.type === 'CallExpression' || at.type === 'NewExpression') {
      if (at.callee === below) return undefined;
      if (isLog) return 'logs';
      if (ERROR_CALLS.test(readName(at.callee))) return 'errors';
    }
    if (at.type === 'Property') {
      const name = readName(at.key);
      if (/^(?:summary|description)$/.test(name)) return 'descriptions';
      if (/^(?:detail|message|reason)$/.test(name)) return isLog ? 'logs' : 'errors';
    }
    if (at.type === 'ImportDeclaration' || /^TS(?!AsExpression|SatisfiesExpression)/.test(at.type))
      return undefined;
    below = at;
  }
  if (path.startsWith('src/core/config/config-schema')) return 'descriptions';
  if (path.startsWith('src/cli/')) return 'cli';
  if (/^src\/(?:gateway\/pages|console)\//.test(path) || /^src\/gateway\/.*\/pages?(?:\/|\.ts|-)/.test(path))
    return 'pages';
  return undefined;
}

const plainHtml = (text) =>
  text
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, ' ')
    .replaceAll(/<[^>]*>/g, '\n')
    .replaceAll(/&\w+;/g, ' ');

/** Comments of a source: blocks, and runs of lines that begin with two slashes. */
function readComments(text) {
  const comments = [];
  for (const match of text.matchAll(/\/\*\*?([\s\S]*?)\*\/|((?:^[ \t]*\/\/[^\n]*\n?)+)/gm)) {
    const body = (match[1] ?? match[2]).replaceAll(/^[ \t]*(?:\*|\/\/)[ \t]?/gm, '');
    if (/biome-ignore|@ts-|^\s*eslint/.test(body)) continue;
    comments.push({ body, line: text.slice(0, match.index).split('\n').length });
  }
  return comments;
}

/** Sentences of a file: `{ kind, line, text, max }`. */
export function readSourceSentences(path, text) {
  const sentences = [];
  const push = (kind, body, line) => {
    let isFirst = kind === 'comments';
    for (const paragraph of body.split(/\n\s*\n|\n(?=\s*(?:[-*]|\d\.)\s)/))
      for (const sentence of splitSentences(
        paragraph.replaceAll(/`[^`]*`/g, 'X').replaceAll(/@(?:param|returns?|throws)\s+\S+/g, ''),
      ))
        if (countWords(sentence) > 1) {
          sentences.push({ kind, line, text: sentence, max: MAX_WORDS.sentence, isFirst });
          isFirst = false;
        }
  };
  for (const { body, line } of readComments(text)) push('comments', body, line);
  if (!path.startsWith('src/') || !path.endsWith('.ts')) return sentences;
  const lines = lineCounter(text);
  const visit = (node, parents) => {
    const value = textOfLiteral(node);
    if (value !== undefined) {
      const kind = /\s/.test(value.trim()) ? purpose(parents, node, path) : undefined;
      if (kind === 'pages') {
        for (const part of plainHtml(value).split('\n'))
          if (/[a-z] [a-z]/.test(part)) push(kind, part, lines(node.start));
      } else if (kind) push(kind, value, lines(node.start));
      if (node.type !== 'TemplateLiteral') return;
    }
    const inside = [...parents, node];
    for (const [key, child] of Object.entries(node))
      if (key !== 'quasis')
        for (const part of Array.isArray(child) ? child : [child])
          if (part && typeof part.type === 'string') visit(part, inside);
  };
  visit(parseSync(path, text).program, []);
  return sentences;
}

/** Line of a position, counted from 1. */
function lineCounter(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (position) => {
    const after = starts.findIndex((start) => start > position);
    return after < 0 ? starts.length : after;
  };
}
