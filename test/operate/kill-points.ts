/** Ends this process before or after the calls of a method that belong to a stage such as `before:act`. */
export function createKillPoint(stage: string) {
  const reach = (point: string) => {
    if (point === stage) process.kill(process.pid, 'SIGKILL');
  };
  return (target: object, method: string, name: string | ((...args: never[]) => string)): void => {
    const members = target as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const call = members[method]!.bind(target);
    const watched = async (...args: unknown[]) => {
      const of = typeof name === 'string' ? name : name(...(args as never[]));
      reach(`before:${of}`);
      const result = await call(...args);
      reach(`after:${of}`);
      return result;
    };
    Object.assign(target, { [method]: watched });
  };
}
