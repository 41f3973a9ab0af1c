/** Plays the cases of Connect's conformance suite for gRPC against our listener of HTTP/2. */
import { expect, test } from "vitest";
import { playConformance } from "../support/others/conformance.ts";

test("gRPC conforms, but for the known deviations", async () => {
  expect(await playConformance(["GRPC"], [2])).toEqual([]);
});
