import { describe, expect, it } from 'vitest';
import { asksForHtml, type Format, negotiate } from '../../../src/core/http/media.js';

const format = (name: string, mediaType: string, more: Partial<Format> = {}) =>
  ({ name, mediaType, ...more }) as Format;
const JSON_ = format('json', 'application/json', { aliases: ['geojson'] });
const HTML = format('html', 'text/html');
const CSV = format('csv', 'text/csv; charset=utf-8', { accepts: ['application/csv'] });
const FORMATS = [JSON_, HTML, CSV];
const best = (accept: string | undefined, formats = FORMATS) => negotiate(undefined, accept, formats).name;

describe('the format of an answer', () => {
  it.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['text/html', 'html'],
    ['TEXT/HTML', 'html'],
    ['text/*', 'html'],
    ['application/csv', 'csv'],
    ['text/csv', 'csv'],
    ['text/html;q=0.4, application/json;q=0.5', 'json'],
    ['text/html;q=0.5, application/json;q=0.4', 'html'],
    // The most specific range decides, not the first nor the greatest.
    ['text/*;q=0.9, text/html;q=0.1, text/csv;q=0.2', 'csv'],
    ['*/*;q=0.8, application/json;q=0', 'html'],
    // A type by its name beats a range of the same weight, wherever it stands: browsers send both.
    ['*/*, text/csv', 'csv'],
    ['text/html,application/xhtml+xml,*/*', 'html'],
    ['application/*, text/html', 'html'],
    // Of equals the first that is offered.
    ['text/csv, text/html', 'html'],
    ['text/html;q=x, application/json;q=0.1', 'json'],
  ])('for %j is %s', (accept, name) => expect(best(accept)).toBe(name));

  it('is none where none is accepted', () => {
    for (const accept of ['image/png', 'application/json;q=0', 'text/*;q=0'])
      expect(() => best(accept)).toThrow(expect.objectContaining({ status: 406 }));
  });

  it('is that of f, whatever is accepted', () => {
    expect(negotiate('CSV', 'text/html', FORMATS)).toBe(CSV);
    expect(negotiate('geojson', undefined, FORMATS)).toBe(JSON_);
    expect(() => negotiate('xml', '*/*', FORMATS)).toThrow('f: must be one of json, geojson, html or csv.');
  });

  it('is a page only for those who would rather have one than JSON', () => {
    expect(asksForHtml('text/html, application/json;q=0.9')).toBe(true);
    expect(asksForHtml('application/json, text/html;q=0.9')).toBe(false);
    expect(asksForHtml('*/*')).toBe(false);
    expect(asksForHtml(undefined)).toBe(false);
  });
});
