/**
 * Runs the locking proxy as a process of its own, so that its parsing does not delay the load
 * generator. proxy.ts starts it; its log line `ready` has the address.
 */
import { startDynamoProxy } from "../../tools/dynamo-proxy/proxy.ts";

const { BENCH_UPSTREAM: upstream = "", BENCH_LOCK_MS: lockMs = "0" } = process.env;
const proxy = await startDynamoProxy({ upstream });
proxy.lock(Number(lockMs));
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    console.log(JSON.stringify({ msg: "stats", ...proxy.stats() }));
    void proxy.stop().then(() => process.exit(0));
  });
}
console.log(JSON.stringify({ msg: "ready", endpoint: proxy.endpoint }));
