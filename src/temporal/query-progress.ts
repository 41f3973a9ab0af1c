/** Queries how far a run has come. */
import type { Link } from "./connection.ts";

/** Only a worker answers a query; without one, returns `unknown`. */
export async function queryProgress<T>(
  { connection, log }: Link,
  handle: { query(name: string): Promise<unknown> },
  query: string,
  unknown: T,
): Promise<T> {
  try {
    return await connection.withDeadline(
      Date.now() + 1_500,
      async () => (await handle.query(query)) as T,
    );
  } catch (error) {
    log.warn({ err: error }, "no worker answered the query for a run's progress");
    return unknown;
  }
}
