/** Tests the header in which a service names itself. */
import { expect, test } from "vitest";
import { authenticateByHeader } from "../../../src/platform/auth/header.ts";

const present = (service: string | null) =>
  authenticateByHeader({
    header: (name) => (name === "meguri-caller" ? service : null),
    socket: undefined,
  });

test.each(["shop", "!", "~", "x".repeat(64)])("permits everything to %s", (service) => {
  expect(present(service)).toEqual({ caller: { service, subject: service }, scopes: "all" });
});

test.each([null, "", "a b", "shop#1", "x".repeat(65), "カフェ"])("refuses %s", (service) => {
  expect(() => present(service)).toThrow(
    expect.objectContaining({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining("meguri-caller"),
    }),
  );
});
