/** Reads the resident memory of this process. */
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** In KB, after garbage collections, which return what earlier work has left. */
export async function residentKb(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 5; i++) {
    await sleep(500);
    collect();
  }
  return Math.round(process.memoryUsage.rss() / 1_024);
}
