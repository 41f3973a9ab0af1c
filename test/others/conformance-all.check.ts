/** Plays Connect's conformance suite for all protocols against both listeners. */
import { expect, test } from "vitest";
import { playConformance } from "../support/others/conformance.ts";

test("all protocols conform, but for the known deviations", async () => {
  expect(await playConformance(["CONNECT", "GRPC", "GRPC_WEB"], [1, 2])).toEqual([]);
});
