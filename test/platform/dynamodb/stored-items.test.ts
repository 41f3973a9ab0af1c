/**
 * Compares every kind of stored item, byte for byte, with those in `stored-items.txt`, and with
 * what is encoded after they were decoded. After a change of items that is meant, write that file
 * again and read its difference:
 * `npx vitest run --config test/vitest.config.ts test/platform/dynamodb/stored-items.test.ts -u`
 */
import { expect, test } from "vitest";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { codecOf } from "../../../src/store/codecs.ts";
import { storeAll } from "../../support/stored-items/all.ts";
import { createRecorder } from "../../support/stored-items/recorder.ts";
import { textOf } from "../../support/stored-items/text.ts";

test("the same calls store the same items, which are decoded without a loss", async () => {
  const recorder = createRecorder();
  await storeAll(recorder);
  await expect(textOf(recorder.stored)).toMatchFileSnapshot("stored-items.txt");

  for (const { step, kind, op, item } of recorder.stored) {
    if (op !== "put" || kind === "rows") continue;
    const { encode, decode } = codecOf(kind);
    const { pk, sk, v, ...attributes } = item;
    // The list of further entries in the item of an entry.
    const packed = kind === "entry" ? (attributes.l?.L ?? []) : [];
    if (kind === "entry") delete attributes.l;
    expect(encode(decode(item) as never), step).toStrictEqual(attributes);
    for (const { M = {} } of packed) {
      expect(encode(decode({ ...M, pk, sk } as Item) as never), step).toStrictEqual(M);
    }
  }
});
