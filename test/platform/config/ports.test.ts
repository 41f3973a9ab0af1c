/** Tests that a port that is taken is named by its variable before a process starts. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfigToStart } from "../../../src/platform/config/config.ts";

const taken = createServer();
let port = "";
beforeAll(async () => {
  taken.listen({ host: "127.0.0.1", port: 0 });
  await once(taken, "listening");
  port = String((taken.address() as AddressInfo).port);
});
afterAll(() => {
  taken.close();
});

const free = { MEGURI_PORT: "0", MEGURI_HTTP1_PORT: "0", MEGURI_OPERATORS_PORT: "0" };

test.each(["MEGURI_PORT", "MEGURI_HTTP1_PORT", "MEGURI_OPERATORS_PORT"])(
  "%s that is taken is refused with all else that is wrong",
  async (name) => {
    const env = { ...free, [name]: port, MEGURI_LOG_LEVEL: "loud" };
    await expect(readConfigToStart(env, "server")).rejects.toMatchObject({
      problems: new Map([
        ["MEGURI_LOG_LEVEL", expect.any(String)],
        [name, `is ${port}, on which another process of 127.0.0.1 listens`],
      ]),
    });
  },
);

test("a worker and a server look at the ports on which they listen", async () => {
  const metrics = { ...free, MEGURI_METRICS_PORT: port };
  await expect(readConfigToStart(metrics, "worker")).rejects.toThrow("MEGURI_METRICS_PORT is");
  expect(await readConfigToStart(metrics, "server")).toMatchObject({ port: 0 });
  const ofServer = { MEGURI_PORT: port, MEGURI_METRICS_PORT: "0" };
  expect(await readConfigToStart(ofServer, "worker")).toMatchObject({ metricsPort: 0 });
});

test("a free port stays free", async () => {
  taken.close();
  await once(taken, "close");
  for (const _ of [1, 2]) {
    expect(await readConfigToStart({ ...free, MEGURI_PORT: port }, "server")).toMatchObject({
      port: Number(port),
    });
  }
});

test("a host of another machine is named", async () => {
  const env = { MEGURI_METRICS_PORT: "0", MEGURI_HOST: "192.0.2.1" };
  const message = /MEGURI_HOST is no address of this machine: .*EADDRNOTAVAIL/;
  await expect(readConfigToStart(env, "worker")).rejects.toThrow(message);
});
