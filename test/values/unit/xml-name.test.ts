import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { decodeXmlName, xmlName } from '../../../src/core/values/xml-name.js';
import { randomSource } from '../../native/support.js';

describe('xmlName', () => {
  it('keeps names and escapes what is none', () => {
    const names = [
      'name',
      'pop_est',
      'Größe',
      '面积',
      'a b',
      '1st',
      '-x',
      '_x',
      'a_x0020_b',
      '__',
      'x:y',
      '😀',
      '×',
    ];
    expect(names.map(xmlName)).toEqual([
      'name',
      'pop_est',
      'Größe',
      '面积',
      'a_x0020_b',
      '_x0031_st',
      '_x002D_x',
      '_x005F_x',
      'a_x005F_x0020_b',
      '__',
      'x_x003A_y',
      '_x01F600_',
      '_x00D7_',
    ]);
  });

  it('is reversible for any text', () => {
    const random = randomSource(9);
    for (let i = 0; i < 20_000; i++) {
      const name = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
        const pool = [
          '_',
          'x',
          '0',
          '2',
          '_x',
          'F',
          '😀',
          String.fromCodePoint(Math.floor(random() * 0xd7ff)),
        ];
        return pool[Math.floor(random() * pool.length)];
      }).join('');
      expect(decodeXmlName(xmlName(name))).toBe(name);
    }
  });

  it('makes names that XML tools take, old letter tables included', () => {
    const names = Array.from({ length: 0x3000 }, (_, i) => String.fromCodePoint(i + 1));
    const sample = [...names, '面', '가', '힣', '龥', '龦', '\uffff', '😀'];
    const elements = sample.flatMap((c) => [xmlName(c), xmlName(`a${c}`)]);
    const xml = `<root>${elements.map((name) => `<${name}/>`).join('')}</root>`;
    // Expat knows the letters of the fourth edition of XML 1.0 only.
    const parse = 'import sys, xml.parsers.expat as e; e.ParserCreate().Parse(sys.stdin.buffer.read(), True)';
    execFileSync('python3', ['-c', parse], { input: xml, stdio: ['pipe', 'pipe', 'pipe'] });
  });
});
