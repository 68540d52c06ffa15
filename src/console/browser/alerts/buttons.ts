/** Shows the buttons of a page of alerts. They need the script, so the server hides them. */
export function revealButtons(root: HTMLElement): void {
  for (const button of root.querySelectorAll<HTMLElement>('button[data-key]')) button.hidden = false;
}
