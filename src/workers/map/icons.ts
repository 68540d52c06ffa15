/** Images that styles name. */
export interface Icons {
  /** Path of the SVG file of an icon; undefined when there is none of that name. */
  file(name: string): string | undefined;
}
