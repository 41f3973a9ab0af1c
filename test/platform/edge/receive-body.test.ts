/** Tests how the body of a call is received. */
import { ConnectError, createContextValues } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BulkGrantService } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import { PointsService } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { receivedKey } from "../../../src/platform/edge/context.ts";
import { receiveBody } from "../../../src/platform/edge/receive-body.ts";
import { createByteBudget } from "../../../src/platform/edge/received-bytes.ts";
import { toRefusal } from "../../support/servers/refusal.ts";

const { getBalance } = PointsService.method;
const { uploadBulkGrant } = BulkGrantService.method;

/** A body of so many chunks of 4 bytes, which then ends or not. */
function bodyOf(count: number, ends = true) {
  let left = count;
  let isReturned = false;
  const next = (): Promise<IteratorResult<Uint8Array>> => {
    if (left-- > 0) return Promise.resolve({ done: false, value: new Uint8Array(4) });
    return ends ? Promise.resolve({ done: true, value: undefined }) : new Promise(() => {});
  };
  const iterator = {
    next,
    return: async () => {
      isReturned = true;
      return { done: true, value: undefined } as const;
    },
  };
  return { [Symbol.asyncIterator]: () => iterator, wasReturned: () => isReturned };
}

/** Values in which up to 10 bytes may be held. */
function limited() {
  const open = createByteBudget({ ofConnection: 10, ofService: 10, ofServer: 10 });
  return createContextValues().set(receivedKey, open("a", undefined));
}

async function read(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) bytes += chunk.byteLength;
  return bytes;
}

const refusalOf = async (reading: Promise<unknown>) =>
  toRefusal(ConnectError.from(await reading.catch((error: unknown) => error)));

describe("the body of a call with one message", () => {
  test("is counted until it is complete, and then no more", async () => {
    const values = limited();
    for (let i = 0; i < 3; i++) {
      expect(await read(receiveBody(bodyOf(2), getBalance, values))).toBe(8);
    }
  });

  test("is refused above the limit, and not closed", async () => {
    const [values, body] = [limited(), bodyOf(3)];
    const refusal = await refusalOf(read(receiveBody(body, getBalance, values)));
    expect(refusal).toMatchObject({ reason: "OVERLOADED", retries: true });
    expect(body.wasReturned()).toBe(false);
    expect(await read(receiveBody(bodyOf(2), getBalance, values))).toBe(8);
  });

  test("has to arrive within its time", async () => {
    const [values, body] = [limited(), bodyOf(2, false)];
    const refusal = await refusalOf(read(receiveBody(body, getBalance, values, 1)));
    expect(refusal.reason).toBe("DEADLINE");
    expect(body.wasReturned()).toBe(false);
    expect(await read(receiveBody(bodyOf(2), getBalance, values))).toBe(8);
  });
});

test("of a stream of messages only what was received last is counted", async () => {
  expect(await read(receiveBody(bodyOf(100), uploadBulkGrant, limited()))).toBe(400);
});
