export const FORM_LIMITS = {
  /** Forms of a server, and versions of a form. */
  forms: 1000,
  versions: 1000,
  /** Sections and fields of a form, choices of a field, and rules of a field. */
  sections: 100,
  fields: 500,
  choices: 5000,
  rules: 20,
} as const;
