/** Whether PostgreSQL is there: nobody answers for its data while it is not. */
export class Store {
  isUp = true;
  /** Grows with each fault: what was asked before may not be answered. */
  faults = 0;

  fail(): void {
    this.isUp = false;
    this.faults++;
  }
}
