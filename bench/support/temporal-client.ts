/** A client of Temporal for what a benchmark reads and runs beside its servers. */
import { Client, Connection } from "@temporalio/client";
import type { Stack } from "./stack.ts";

/** Runs `use` with a client of the stack's Temporal server, and closes its connection. */
export async function withTemporalClient<T>(
  { config }: Pick<Stack, "config">,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const connection = await Connection.connect({ address: config.temporalAddress });
  try {
    return await use(new Client({ connection, namespace: config.temporalNamespace }));
  } finally {
    await connection.close();
  }
}
