export { addFeatures, applyEdits, deleteFeatures, queryFeatures } from '@esri/arcgis-rest-feature-service';
export { getItem, getPortal, searchItems } from '@esri/arcgis-rest-portal';
export { ApiKeyManager, ArcGISIdentityManager, request } from '@esri/arcgis-rest-request';
