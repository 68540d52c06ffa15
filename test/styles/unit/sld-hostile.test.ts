import { describe, expect, it } from 'vitest';
import { importSld } from '../../../src/core/styles/sld/import/import.js';
import { SldFailure } from '../../../src/core/styles/sld/report.js';
import { fixture, ruleOf } from '../support.js';

function failureOf(text: string): string {
  try {
    importSld(text);
  } catch (error) {
    if (error instanceof SldFailure) return error.construct;
    throw error;
  }
  return 'none';
}

describe('texts that are no styles', () => {
  it.each(
    [
      ['', 'XML'],
      ['<a', 'XML'],
      ['<a/><b/>', 'XML'],
      ['<html><body/></html>', 'html'],
      ['<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 'DOCTYPE'],
      ['<StyledLayerDescriptor><!ENTITY x SYSTEM "file:///etc/passwd"></StyledLayerDescriptor>', 'DOCTYPE'],
      ['<StyledLayerDescriptor version="1.0.0"><NamedLayer/></StyledLayerDescriptor>', 'UserStyle'],
      ['<a>'.repeat(100) + '</a>'.repeat(100), 'XML'],
      [`<a>${' '.repeat(1_048_600)}</a>`, 'StyledLayerDescriptor'],
      ['<constructor/>', 'XML'],
      ['<a __proto__="1"/>', 'XML'],
    ].map(([text, construct]) => [text!.slice(0, 40), text!, construct!] as const),
  )('are refused: %s', (_, text, construct) => {
    expect(failureOf(text)).toBe(construct);
  });

  it('has more rules than can be drawn', () => {
    const rule = '<Rule><LineSymbolizer/></Rule>';
    expect(failureOf(`<FeatureTypeStyle>${rule.repeat(1001)}</FeatureTypeStyle>`)).toBe('Rule');
    expect(failureOf(ruleOf('<LineSymbolizer/>'.repeat(2001)))).toBe('StyledLayerDescriptor');
  });

  it('does not grow a long filter with the number of its symbolizers', () => {
    const equal =
      '<ogc:PropertyIsEqualTo><ogc:PropertyName>a</ogc:PropertyName><ogc:Literal>x</ogc:Literal></ogc:PropertyIsEqualTo>';
    const filter = `<ogc:Filter><ogc:Or>${equal.repeat(6000)}</ogc:Or></ogc:Filter>`;
    expect(failureOf(ruleOf(filter + '<LineSymbolizer/>'.repeat(1000)))).toBe('StyledLayerDescriptor');
  });

  it('does not grow what is nested in functions that use a value twice', () => {
    const nested = (depth: number): string =>
      depth === 0
        ? '<ogc:PropertyName>a</ogc:PropertyName>'
        : `<ogc:Function name="between">${nested(depth - 1)}<ogc:Literal>1</ogc:Literal><ogc:Literal>2</ogc:Literal></ogc:Function>`;
    const text = ruleOf(`<ogc:Filter>${nested(45)}</ogc:Filter><LineSymbolizer/>`);
    const { layers } = importSld(text);
    expect(JSON.stringify(layers).length).toBeLessThan(20 * text.length);
  });
});

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const FIXTURES = [
  'geoserver-roads-1.0.sld',
  'qgis-points-1.1.sld',
  'geoserver-dem-1.0.sld',
  'se-classes-1.1.sld',
];

describe('styles with something changed', () => {
  it.each(FIXTURES)('%s: layers, or a typed failure', (name) => {
    const text = fixture(name);
    const next = numbers(name.length);
    let read = 0;
    for (let i = 0; i < 200; i++) {
      try {
        const { diagnostics } = importSld(
          mutated(text, next),
          i % 3 === 0 ? { geometryType: 'Polygon' } : {},
        );
        expect(Array.isArray(diagnostics)).toBe(true);
        read++;
      } catch (error) {
        expect(error).toBeInstanceOf(SldFailure);
      }
    }
    // Most changes leave a style that can be read in part.
    expect(read).toBeGreaterThan(50);
  });
});

/** One or several elements, texts or characters moved, doubled, dropped or changed. */
function mutated(text: string, next: (below: number) => number): string {
  let changed = text;
  for (let i = next(4); i >= 0; i--) changed = changes[next(changes.length)]!(changed, next);
  return changed;
}

type Change = (text: string, next: (below: number) => number) => string;

const WORDS = [
  '',
  '-1',
  '1e999',
  'NaN',
  '#zzz',
  '#12',
  'red',
  'shape://x',
  '{a}',
  '<a/>',
  'a:b',
  '9'.repeat(400),
  '%',
  '0 0',
  ',',
];

const changes: Change[] = [
  // Another text in an element.
  (text, next) => nth(text, />[^<>]+</g, next, () => `>${WORDS[next(WORDS.length)]}<`),
  // An element without its content.
  (text, next) => nth(text, /<([\w:]+)[^<>]*>[^<]*<\/\1>/g, next, () => ''),
  // An element twice.
  (text, next) => nth(text, /<([\w:]+)[^<>]*>[^<]*<\/\1>/g, next, (found) => found + found),
  // An element of another name.
  (text, next) =>
    nth(text, /<([\w:]+)([^<>]*)>([^<]*)<\/\1>/g, next, () => '<ogc:Function name="max"></ogc:Function>'),
  // Another attribute.
  (text, next) =>
    nth(text, /"[^"]*"/g, next, () => `"${(WORDS[next(WORDS.length)] ?? '').replace(/[<]/g, '')}"`),
  // Other characters.
  (text, next) => {
    const at = next(text.length);
    return text.slice(0, at) + String.fromCharCode(next(256)) + text.slice(at + next(3));
  },
];

function nth(
  text: string,
  pattern: RegExp,
  next: (below: number) => number,
  by: (found: string) => string,
): string {
  const found = [...text.matchAll(pattern)];
  const chosen = found[next(found.length)];
  if (!chosen) return text;
  return text.slice(0, chosen.index) + by(chosen[0]) + text.slice(chosen.index + chosen[0].length);
}
