import { expect, it } from 'vitest';
import { parseBucketUrl } from '../../../src/core/sources/storage.js';

it.each([
  ['s3://files', { bucket: 'files', prefix: '' }],
  ['s3://files/', { bucket: 'files', prefix: '' }],
  ['s3://my.files-1/maps/north', { bucket: 'my.files-1', prefix: 'maps/north/' }],
  ['s3://files/maps//north/', { bucket: 'files', prefix: 'maps/north/' }],
])('%s is a bucket with a prefix', (url, bucket) => {
  expect(parseBucketUrl(url)).toEqual(bucket);
});

it.each([
  '',
  'files',
  's3://',
  's3://F',
  's3://a',
  's3://a..b/c',
  's3://files/../c',
  's3://files/a b',
  'https://files/a',
])('"%s" is none', (url) => {
  expect(parseBucketUrl(url)).toBeUndefined();
});
