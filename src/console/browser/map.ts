import './page-map.js';
