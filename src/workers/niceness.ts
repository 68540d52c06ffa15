/** Niceness of threads and processes that compute: with fewer cores than work, answering requests goes first. */
export const WORKER_NICENESS = 10;
/** Of the thread that is for callers with a key while the others are taken. */
export const KEYED_NICENESS = 4;
/** Of threads that do processes, which wait for all other work. */
export const PROCESS_NICENESS = 15;
