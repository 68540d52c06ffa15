import { action, group, report, resource } from '../kit.js';

/** Form packages for data collection. */
export const forms = group({ tag: 'Forms', scope: 'forms', envelope: 'raw' }, [
  ...resource('/forms/packages/{formId}', {
    list: 'List Form Packages',
    create: 'Create Form Package Draft',
    get: 'Get Current Form Package',
  }),
  action('POST /forms/packages/generate', 'Generate Form Package'),
  ...resource('/forms/packages/{formId}/versions/{packageVersion}', {
    list: 'List Form Package Versions',
    get: 'Get Form Package Version',
    update: 'Update Form Package Draft',
  }),
  report('POST /forms/packages/{formId}/versions/{packageVersion}/validate', 'Validate Form Package Version'),
  action('POST /forms/packages/{formId}/versions/{packageVersion}/publish', 'Publish Form Package Version'),
  action('POST /forms/packages/{formId}/versions/{packageVersion}/reopen', 'Reopen Form Package Version'),
]);
