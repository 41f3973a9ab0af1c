/** Tests how many bytes of unfinished requests a server holds. */
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createByteBudget } from "../../../src/platform/edge/received-bytes.ts";

const limits = { ofConnection: 10, ofService: 15, ofServer: 25 };
const [first, second, third] = [{}, {}, {}] as Socket[];
const overloaded = expect.objectContaining({ reason: "OVERLOADED" });

describe("bytes that are held", () => {
  test("have a limit for each connection", () => {
    const open = createByteBudget(limits);
    open("a", first).add(8);
    expect(() => open("b", first).add(3)).toThrow(overloaded);
    open("b", first).add(2);
    open("b", second).add(3);
  });

  test("have a limit for each service, below that of the server", () => {
    const open = createByteBudget(limits);
    open("a", first).add(10);
    expect(() => open("a", second).add(6)).toThrow(overloaded);
    open("a", second).add(5);
    open("b", third).add(10);
    expect(() => open("c", {} as Socket).add(1)).toThrow(overloaded);
  });

  test("are free again when they are handed on, also those of a call that was refused", () => {
    const open = createByteBudget(limits);
    for (let i = 0; i < 9; i++) {
      const call = open("a", first);
      call.add(6);
      call.add(4);
      expect(() => call.add(1)).toThrow(overloaded);
      call.clear();
      call.clear();
    }
  });

  test("are free at the end of a call, and what arrives later does not count", () => {
    const open = createByteBudget(limits);
    for (let i = 0; i < 9; i++) {
      const call = open("a", first);
      call.add(10);
      call.end();
      call.add(10);
    }
  });
});
