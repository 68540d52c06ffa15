/** Paths of resources that documents of several APIs link to. */

export const FEATURES_PATH = '/ogc/features';
export const COVERAGES_PATH = '/ogc/coverages';
export const PROCESSES_PATH = '/ogc/processes';

export const processPath = (id: string) => `${PROCESSES_PATH}/processes/${encodeURIComponent(id)}`;
export const jobPath = (id: string) => `${PROCESSES_PATH}/jobs/${id}`;
