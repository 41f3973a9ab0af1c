/** Tests how the deliveries of a process read the log together. */
import { expect, test } from "vitest";
import type { EventLogReader } from "../../../src/events/ports/log.ts";
import { deliveryLogOf } from "../../support/fixtures/deliveries.ts";
import { createListedLog, entryEvent } from "../../support/fixtures/listed-events.ts";

const { signal } = new AbortController();

/** A log that counts its reads. */
function countedLog() {
  const listed = createListedLog();
  const counts = { tail: 0, read: 0 };
  const log: EventLogReader = {
    ...listed,
    tail: () => {
      counts.tail += 1;
      return listed.tail();
    },
    read: (number, limit) => {
      counts.read += 1;
      return listed.read(number, limit);
    },
  };
  return { listed, log, counts };
}

test("those that are at its end read it and each batch once", async () => {
  const { listed, log, counts } = countedLog();
  const shared = deliveryLogOf(log);
  listed.append(entryEvent("aoi", 1));
  const all = await Promise.all(Array.from({ length: 50 }, () => shared.next(1, signal)));
  expect(new Set(all).size).toBe(1);
  expect(all[0]).toMatchObject({ number: 1 });
  expect(counts).toEqual({ tail: 1, read: 1 });
});

test("says where it ends, and what is not kept", async () => {
  const { listed, log } = countedLog();
  const shared = deliveryLogOf(log);
  expect(await shared.tail(signal)).toEqual({ logId: "log-1", number: 0, time: 0 });
  expect(await shared.next(1, signal)).toBe("end");
  for (let number = 1; number <= 3; number++) listed.append(entryEvent("aoi", number));
  listed.trim(3);
  expect(await shared.next(4, signal)).toBe("end");
  expect(await shared.next(1, signal)).toBe("expired");
  expect(await shared.oldest()).toBe(3);
  expect(await shared.next(3, signal)).toMatchObject({ number: 3 });
});

test("waits while the store does not answer, until the signal aborts", async () => {
  const { listed, log } = countedLog();
  let failures = 1;
  const failing: EventLogReader = {
    ...log,
    read: async (number, limit) => {
      if (failures-- > 0) throw new Error("no answer");
      return listed.read(number, limit);
    },
  };
  const shared = deliveryLogOf(failing);
  listed.append(entryEvent("aoi", 1));
  expect(await shared.next(1, signal)).toMatchObject({ number: 1 });
  failures = Number.POSITIVE_INFINITY;
  listed.append(entryEvent("aoi", 2));
  const ending = new AbortController();
  const next = shared.next(2, ending.signal);
  ending.abort();
  expect(await next).toBe("end");
});
