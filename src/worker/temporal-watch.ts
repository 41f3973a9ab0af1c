/** Asks Temporal regularly whether it is there, because idle polls end only once a minute. */
import { setTimeout as sleep } from "node:timers/promises";
import type { NativeConnection } from "@temporalio/worker";
import type { Milliseconds } from "../platform/words/units.ts";

interface TemporalWatch {
  /** For how long Temporal has answered nothing; undefined before the first answer. */
  silenceMs(): Milliseconds | undefined;
  /** Asks from now on over a connection that was just made, by which Temporal has answered. */
  start(connection: Pick<NativeConnection, "workflowService" | "withDeadline">): void;
  close(): void;
}

/** How long a request waits for its answer, and how long after that the next one is sent. */
const defaultPauseMs = 5_000;

export function createTemporalWatch(pauseMs: Milliseconds = defaultPauseMs): TemporalWatch {
  const closing = new AbortController();
  let answeredAt: number | undefined;
  const answer = () => {
    answeredAt = performance.now();
  };
  return {
    silenceMs: () => (answeredAt === undefined ? undefined : performance.now() - answeredAt),
    async start(connection) {
      answer();
      const ask = () => connection.workflowService.getSystemInfo({});
      const pause = () => sleep(pauseMs, true, { signal: closing.signal }).catch(() => false);
      while (await pause()) {
        // Only the length of the silence counts: the SDK logs why its polls fail.
        await connection.withDeadline(Date.now() + pauseMs, ask).then(answer, () => {});
      }
    },
    close: () => closing.abort(),
  };
}
