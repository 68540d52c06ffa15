/** Path of the management API. */
export const BASE_PATH = '/api/v1/admin';
