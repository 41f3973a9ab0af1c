/** Tests when a stream that breaks can still be sent again. */
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { afterFirst } from "../../packages/client/src/streams.ts";
import { BulkGrantService } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";

const { uploadBulkGrant, watchBulkGrant } = BulkGrantService.method;

/** An answer whose connection breaks after its first message. */
async function breaksAfterFirst(method: typeof uploadBulkGrant | typeof watchBulkGrant) {
  async function* message() {
    yield "first";
    throw new ConnectError("the connection is closed", Code.Canceled);
  }
  const response = { stream: true, service: BulkGrantService, method, message: message() };
  const { message: messages } = await afterFirst(response as never, () => {});
  return messages[Symbol.asyncIterator]();
}

test("the single answer of an upload is read to its end", async () => {
  await expect(breaksAfterFirst(uploadBulkGrant)).rejects.toMatchObject({ code: Code.Canceled });
});

test("of a stream with many answers, only the first one is waited for", async () => {
  const messages = await breaksAfterFirst(watchBulkGrant);
  expect(await messages.next()).toEqual({ done: false, value: "first" });
  await expect(messages.next()).rejects.toMatchObject({ code: Code.Canceled });
});
