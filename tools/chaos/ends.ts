/** Waits for what ends when a run is over, but not without a limit. */

/** Something that ends by itself, such as a client whose calls are over. */
export interface Ending {
  readonly name: string;
  readonly ended: Promise<unknown>;
}

/** Waits until all have ended. Throws the names of those that have not when the time is over. */
export async function awaitEnds(all: readonly Ending[], mostMs: number): Promise<void> {
  const open = new Set(all);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const names = [...open].map(({ name }) => name).join(", ");
    late.reject(new Error(`not over ${mostMs / 1_000} s after the last fault: ${names}`));
  }, mostMs);
  const each = all.map(async (one) => {
    await one.ended;
    open.delete(one);
  });
  try {
    await Promise.race([Promise.all(each), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
