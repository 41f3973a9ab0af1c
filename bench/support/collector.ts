/** Collects the garbage of a server that loads this file (`node --import`), at each SIGUSR2. */
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

process.on("SIGUSR2", async () => {
  for (let i = 0; i < 5; i++) {
    collect();
    await sleep(200);
  }
});
