import { describe, expect, it } from 'vitest';
import { imageSize } from '../../../src/core/files/image-size.js';
import { checkedMediaType } from '../../../src/core/files/media-signature.js';

/** What files are by their first bytes, and what they say that they are. */

const bytes = (text: string) => Buffer.from(text, 'latin1');
const check = (head: string, mediaType: string | undefined, name = 'file') =>
  checkedMediaType(bytes(head), { mediaType, name });

const PNG = '\x89PNG\r\n\x1a\n';

describe('a file is taken for what its bytes are', () => {
  it.each<[string, string | undefined, string, string]>([
    [PNG, 'image/png', 'a.png', 'image/png'],
    [PNG, undefined, 'a', 'image/png'],
    [PNG, 'application/octet-stream', 'a.PNG', 'image/png'],
    ['\xff\xd8\xff\xe0', 'image/jpg', 'a.jpeg', 'image/jpeg'],
    ['PK\x03\x04', 'application/zip', 'a.zip', 'application/zip'],
    [
      'PK\x03\x04',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'a.docx',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    ],
    ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'application/msword', 'a.doc', 'application/msword'],
    ['\0\0\0\x14ftypqt  ', 'video/quicktime', 'a.mov', 'video/mp4'],
    ['a,b\n1,2\n', 'text/csv', 'a.csv', 'text/csv'],
    ['{"a": 1}', 'application/json', 'a.json', 'application/json'],
    ['hello <html> world', 'text/plain; charset=utf-8', 'a.txt', 'text/plain'],
    ['<?xml version="1.0"?><gml/>', 'application/gml+xml', 'a', 'application/gml+xml'],
    ['<?xml version="1.0"?><a/>', 'text/xml', 'a.xml', 'application/xml'],
    ['BM as text', 'text/plain', 'a.txt', 'text/plain'],
    ['\x01\x02\x03', 'application/x-shapefile', 'a.shp', 'application/octet-stream'],
  ])('%j as %s', (head, mediaType, name, expected) => {
    expect(check(head, mediaType, name)).toEqual({ mediaType: expected });
  });
});

describe('a lie is told', () => {
  it.each<[string, string | undefined, string]>([
    ['hello', 'image/png', 'a'],
    ['hello', undefined, 'a.pdf'],
    [PNG, 'image/jpeg', 'a'],
    [PNG, 'text/plain', 'a'],
    [PNG, 'image/png', 'a.txt'],
    ['PK\x03\x04', 'application/msword', 'a'],
    ['PK\x03\x04', 'application/pdf', 'a'],
    ['\x01\x02\x03', 'application/pdf', 'a'],
    ['\x01\x02\x03', 'text/plain', 'a'],
    ['\x01\x02\x03', 'application/vnd.ms-excel', 'a'],
    ['alert(1)', 'text/javascript', 'a.js'],
    ['hello', 'text/html', 'a.html'],
  ])('%j as %s, %s', (head, mediaType, name) => {
    expect(check(head, mediaType, name)).toEqual({ problem: expect.stringContaining('says that it is') });
  });

  it.each([
    '<!DOCTYPE html>',
    ' \n<!-- x --><HTML lang="en">',
    '<?xml version="1.0"?><html xmlns="x"/>',
    '<script>x()</script>',
    '<svg/>',
    '<?xml version="1.0"?>\n<!DOCTYPE svg><svg:svg/>',
  ])('what browsers run is not taken: %j', (head) => {
    expect(check(head, 'text/plain')).toEqual({ problem: expect.stringContaining('which is not allowed') });
  });
});

describe('the size of an image', () => {
  it('is read of JPEG behind other segments', () => {
    const jpeg = '\xff\xd8\xff\xe1\x00\x06abcd\xff\xc2\x00\x0b\x08\x01\x02\x03\x04';
    expect(imageSize('image/jpeg', bytes(jpeg))).toEqual({ width: 0x304, height: 0x102 });
  });

  it('is read of GIF, BMP and WebP', () => {
    expect(imageSize('image/gif', bytes('GIF89a\x02\x00\x03\x01'))).toEqual({ width: 2, height: 259 });
    const bmp = `BM${'\0'.repeat(16)}\x05\0\0\0\xfb\xff\xff\xff`;
    expect(imageSize('image/bmp', bytes(bmp))).toEqual({ width: 5, height: 5 });
    const extended = `RIFF\0\0\0\0WEBPVP8X${'\0'.repeat(8)}\x09\0\0\x13\0\0`;
    expect(imageSize('image/webp', bytes(extended))).toEqual({ width: 10, height: 20 });
  });

  it('is not there where the file is cut off, at any byte', () => {
    const jpeg = '\xff\xd8\xff\xe1\x00\x06abcd\xff\xc2\x00\x0b\x08\x01\x02\x03\x04';
    for (let end = 0; end < jpeg.length; end++)
      expect(imageSize('image/jpeg', bytes(jpeg.slice(0, end)))).toBeUndefined();
    expect(imageSize('image/png', bytes(PNG))).toBeUndefined();
  });
});
