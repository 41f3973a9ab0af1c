/**
 * The process of an attacker. It has the lowest priority, because real attackers are on machines of
 * their own and do not take the server's CPU.
 */
import { setPriority } from "node:os";
import { attacks, frameAttacks } from "./attacks.ts";
import { eventAttacks } from "./event-attacks.ts";
import type { Site } from "./site.ts";

/** What the parent sends to begin. */
export type Order = Pick<Site, "port" | "http1Port" | "token"> & { readonly attack: string };

setPriority(19);
const ending = new AbortController();
process.on("disconnect", () => process.exit());

process.on("message", async (message: Order | "stop") => {
  if (message === "stop") {
    ending.abort();
    return;
  }
  const counts: Record<string, number> = {};
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  await { ...attacks, ...frameAttacks, ...eventAttacks }[message.attack]?.({
    ...message,
    count,
    signal: ending.signal,
  });
  process.send?.(counts, () => process.exit());
});
