export function bundlePath(): string;
export function makeHostBundle(): Promise<void>;
