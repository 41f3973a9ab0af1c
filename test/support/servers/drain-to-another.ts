/** Drains a server whose streams come to another one. */
import { setTimeout as sleep } from "node:timers/promises";
import { returnStreams } from "./returning-streams.ts";
import { startServer } from "./server.ts";

/**
 * Drains a server with so many streams, until all of them have come to another one over the same
 * store. Returns how many calls this one has answered meanwhile; none may fail.
 */
export async function drainToAnother(count: number): Promise<number> {
  const staying = await startServer({ testClock: false });
  const { tablePrefix } = staying.config;
  // Within this time all streams get their last message, however busy the machine is.
  const env = { MEGURI_DRAIN_SECONDS: "10" };
  const leaving = await startServer({ testClock: false, tablePrefix, env });
  const owners = Array.from({ length: count }, (_, i) => `owner-${i}`);
  const { returned, close } = await returnStreams(leaving.port, staying.port, owners);
  const stopped = leaving.stop();
  let isOver = false;
  const over = returned.then(() => {
    isOver = true;
  });
  let answered = 0;
  while (!isOver) {
    await staying.points.getBalance({ userId: "u" });
    answered += 1;
    await Promise.race([over, sleep(20)]);
  }
  close();
  await stopped;
  await staying.stop();
  return answered;
}
