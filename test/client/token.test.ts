/** Tests when a client asks for another token. */
import { expect, test, vi } from "vitest";
import { createTokenSource } from "../../packages/client/src/token.ts";

/** A JWT that expires after this many seconds. */
function tokenFor(seconds: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1_000) + seconds;
  return `${part({ alg: "none" })}.${part({ exp })}.`;
}

test("a text is sent as it is", () => {
  const source = createTokenSource("secret");
  expect(source.header()).toBe("Bearer secret");
  expect(source.reject("Bearer secret")).toBe(false);
});

test("a token is kept, and calls that need one at the same time share it", async () => {
  const make = vi.fn(async () => "opaque");
  const source = createTokenSource(make);
  expect(await Promise.all([source.header(), source.header()])).toEqual(
    Array(2).fill("Bearer opaque"),
  );
  expect(source.header()).toBe("Bearer opaque");
  expect(make).toHaveBeenCalledTimes(1);
});

test("a JWT is replaced 30 s before it expires, or when 80 % of its time are over", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const lifetimes = [600, 60, 60];
  const make = vi.fn(() => tokenFor(lifetimes.shift() as number));
  const source = createTokenSource(make);
  await source.header();
  vi.setSystemTime(Date.now() + 569_000);
  await source.header();
  expect(make).toHaveBeenCalledTimes(1);
  vi.setSystemTime(Date.now() + 2_000);
  await source.header();
  expect(make).toHaveBeenCalledTimes(2);
  vi.setSystemTime(Date.now() + 46_000);
  await source.header();
  expect(make).toHaveBeenCalledTimes(2);
  vi.setSystemTime(Date.now() + 3_000);
  await source.header();
  expect(make).toHaveBeenCalledTimes(3);
  vi.useRealTimers();
});

test("only the current token is dropped when a server rejects it", async () => {
  let count = 0;
  const source = createTokenSource(() => `t${++count}`);
  const first = await source.header();
  expect(source.reject(first)).toBe(true);
  expect(await source.header()).toBe("Bearer t2");
  // A call that was sent with the first token comes back late.
  expect(source.reject(first)).toBe(true);
  expect(await source.header()).toBe("Bearer t2");
});

test("a token that cannot be had is the caller's error, and is asked for again", async () => {
  const make = vi.fn().mockRejectedValueOnce(new Error("no key")).mockResolvedValue("t");
  const source = createTokenSource(make);
  await expect(source.header()).rejects.toThrow("[unauthenticated] no token: no key");
  expect(await source.header()).toBe("Bearer t");
});

test("a token that fits in no header is refused, and not shown", async () => {
  const text = "token: only visible ASCII fits in a header";
  expect(() => createTokenSource("t\n")).toThrow(new TypeError(text));
  await expect(createTokenSource(() => "秘").header()).rejects.toThrow(`no token: ${text}`);
});
