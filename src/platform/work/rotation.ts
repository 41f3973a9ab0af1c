/** Begins tasks of many holders in rotation, so that many tasks of one delay no other holder. */

/** Runs a task of a holder when it is its turn. */
type Rotation = <T>(holder: string, task: () => Promise<T>) => Promise<T>;

/** Returns a function that runs at most `width` tasks at once, those of each holder in order. */
export function createRotation(width: number): Rotation {
  /** What begins the tasks that wait, by their holders; the holder that is next is first. */
  const waiting = new Map<string, (() => void)[]>();
  let running = 0;

  function begin(): void {
    while (running < width) {
      const [first] = waiting;
      if (!first) return;
      const [holder, tasks] = first;
      const next = tasks.shift();
      // Set again, a holder comes after all other holders.
      waiting.delete(holder);
      if (tasks.length > 0) waiting.set(holder, tasks);
      running += 1;
      next?.();
    }
  }

  return async (holder, task) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const tasks = waiting.get(holder);
    if (tasks) tasks.push(resolve);
    else waiting.set(holder, [resolve]);
    begin();
    await promise;
    try {
      return await task();
    } finally {
      running -= 1;
      begin();
    }
  };
}
