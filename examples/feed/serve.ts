/**
 * Serves the example page, as docs/call/notifications.md shows:
 * `node examples/feed/serve.ts PORT MEGURI_URL BROWSER_URL KEY_FILE`.
 */
import { readFileSync } from "node:fs";
import { people } from "./comments.ts";
import { startFeed } from "./server.ts";

const [port, meguriUrl, browserUrl, keyFile] = process.argv.slice(2);
if (!port || !meguriUrl || !browserUrl || !keyFile) {
  throw new Error("usage: node examples/feed/serve.ts PORT MEGURI_URL BROWSER_URL KEY_FILE");
}
const privateKey = readFileSync(keyFile, "utf8");
await startFeed({ port: Number(port), meguriUrl, browserUrl, privateKey });
for (const personId of people.keys()) {
  console.log(`http://127.0.0.1:${port}/?person=${personId}`);
}
