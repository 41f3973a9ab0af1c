/** Tests calls to Temporal whose connection is closed before they have ended. */
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createLogger } from "../../src/platform/observe/log.ts";
import { createLink } from "../../src/platform/temporal/connection.ts";

const unavailable = { reason: "WORKFLOWS_UNAVAILABLE" };

/** A link to a frontend that answers each request with UNAVAILABLE. */
async function createLinkToAway() {
  const frontend = createServer();
  frontend.on("stream", (stream) => {
    const headers = { ":status": 200, "content-type": "application/grpc", "grpc-status": "14" };
    stream.respond(headers, { endStream: true });
  });
  frontend.listen({ host: "127.0.0.1", port: 0 });
  await once(frontend, "listening");
  onTestFinished(() => void frontend.close());
  const { port } = frontend.address() as AddressInfo;
  const log = createLogger("test", "silent");
  const names = { namespace: "default", taskQueue: "meguri" };
  return { frontend, link: createLink({ address: `127.0.0.1:${port}`, log, ...names }) };
}

test("a call that would be sent again after the close is answered", async () => {
  const { frontend, link } = await createLinkToAway();
  const sent = once(frontend, "stream");
  const answer = link.call(() => link.connection.workflowService.getSystemInfo({}));
  await sent;
  await link.connection.close();
  await expect(answer).rejects.toMatchObject(unavailable);
});

test("a call that begins after the close is answered", async () => {
  const { link } = await createLinkToAway();
  await link.connection.close();
  const answer = link.call(() => link.connection.workflowService.getSystemInfo({}));
  await expect(answer).rejects.toMatchObject(unavailable);
});
