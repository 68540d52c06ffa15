import { group, resource } from '../kit.js';

/** Rows hidden from roles. */
export const rowLevelSecurity = group(
  { tag: 'Row-level security', scope: 'row-level-security', envelope: 'wrapped' },
  [
    ...resource('/rls-policies/{id}', {
      list: 'List RLS Policies',
      create: 'Create RLS Policy',
      get: 'Get RLS Policy',
      remove: 'Delete RLS Policy',
    }),
  ],
);
