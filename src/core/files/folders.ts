/** Whether a path is below a folder, not the folder itself. Both are absolute, without a slash at the end. */
export const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

/** Whether a path is a folder, or below it. */
export const isInFolder = (path: string, folder: string): boolean => path === folder || isBelow(path, folder);
