/** Tests web hooks whose receiver hangs, and whose files of secrets are damaged. */
import { expect, test, vi } from "vitest";
import {
  destinationOf,
  logger,
  secretOf,
  verified,
} from "../../support/fixtures/http-destination.ts";
import { type Hook, hang, startHookServer } from "../../support/servers/hook-server.ts";

test("a file that is emptied or damaged leaves the last good secret", async () => {
  const server = await startHookServer();
  const secret = secretOf();
  const { send, write } = destinationOf(server.url, { secrets: [`\ufeff${secret}\r\n`] });
  const error = vi.spyOn(logger, "error");
  for (const [times, text] of ["", "whsec_?"].entries()) {
    write([text]);
    await vi.waitFor(() => expect(error).toHaveBeenCalledTimes(times + 1), 30_000);
    expect(await send()).toBeUndefined();
    verified(server.hooks.at(-1) as Hook, secret);
  }
  expect(JSON.stringify(error.mock.calls)).not.toContain("whsec_?");
});

test("an answer that does not come, or does not end, is no delivery", async () => {
  const server = await startHookServer();
  server.answer = hang;
  const timing = { answerMs: 200, requestMs: 60_000 };
  await expect(destinationOf(server.url, { timing }).send()).rejects.toMatchObject({
    code: "UND_ERR_HEADERS_TIMEOUT",
  });
  server.answer = (response) => response.writeHead(200).write("o");
  await expect(destinationOf(server.url, { timing }).send()).rejects.toMatchObject({
    code: "UND_ERR_BODY_TIMEOUT",
  });
  const whole = { answerMs: 60_000, requestMs: 200 };
  await expect(destinationOf(server.url, { timing: whole }).send()).rejects.toMatchObject({
    name: "TimeoutError",
  });
});
