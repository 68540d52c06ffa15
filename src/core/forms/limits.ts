export const FORM_LIMITS = {
  /** Forms of a server, and versions of a form. */
  forms: 1000,
  versions: 1000,
  /** Sections and fields of a form, choices of a field, and rules of a field. */
  sections: 100,
  fields: 500,
  choices: 5000,
  rules: 20,
  /** Instances of a repeatable section, and characters of a text. */
  instances: 200,
  textLength: 10_000,
  /** Issues of a submission that are reported. */
  issues: 100,
  /** Bytes of the values of a submission. */
  submissionBytes: 1_000_000,
  /** Submissions of an export. */
  exportedSubmissions: 50_000,
  /** Characters of a comment or note. */
  commentLength: 10_000,
} as const;
