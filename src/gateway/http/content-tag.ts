export { contentTag } from '../../core/content-tag.js';
