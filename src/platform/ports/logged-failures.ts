/** Keeps which failures of activities the log has, so that the SDK writes no second line. */

const logged = new WeakSet<object>();

/** Remembers that a failure has its line. */
export const markLogged = (failure: object): void => void logged.add(failure);

/** Whether a failure has its line already. */
export const isLogged = (failure: unknown): boolean =>
  typeof failure === "object" && failure !== null && logged.has(failure);
