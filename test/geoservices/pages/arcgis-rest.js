export { addFeatures, applyEdits, deleteFeatures, queryFeatures } from '@esri/arcgis-rest-feature-service';
export { bulkGeocode, geocode, reverseGeocode, suggest } from '@esri/arcgis-rest-geocoding';
export { getItem, getPortal, searchItems } from '@esri/arcgis-rest-portal';
export { ApiKeyManager, ArcGISIdentityManager, request } from '@esri/arcgis-rest-request';
