/** Tests that calls which time out together cost other calls on their connection nothing. */
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** Calls that time out while the store answers none of them. */
async function timeOut(count: number, round: number): Promise<void> {
  const calls = Array.from({ length: count }, async (_, i) => {
    const request = { userId: `u-${i}`, eventId: `e-${round}`, points: 1n };
    const error = await server.points
      .grantPoints(request, { timeoutMs: 1_000 })
      .then(() => undefined, ConnectError.from);
    expect(error?.code).toBe(Code.DeadlineExceeded);
  });
  await Promise.all(calls);
}

test("calls with other deadlines go on, round after round", async () => {
  server.store.latencyMs = 3_000;
  for (const round of [1, 2, 3]) {
    const good = Array.from({ length: 20 }, () =>
      server.programs.getProgram({ programId: "default" }, { timeoutMs: 60_000 }),
    );
    await Promise.all([timeOut(2_500, round), ...good]);
  }
  server.store.latencyMs = 0;
});
