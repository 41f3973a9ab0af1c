/** Tests which addresses a web hook is kept away from. */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  isPrivateAddress,
  lookupAny,
  lookupPublic,
} from "../../../src/events/destinations/addresses.ts";

test.each([
  "0.0.0.0",
  "10.0.0.1",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.31.255.255",
  "192.168.1.1",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "[::1]",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "64:ff9b::7f00:1",
  "fc00::1",
  "fe80::1",
  "ff02::1",
  "2002:7f00:1::",
  "2001:db8::1",
  "2001:0:1::",
])("%s is private", (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

test.each(["8.8.8.8", "172.32.0.1", "192.167.0.1", "2606:4700::1111", "2001:4860:4860::8888"])(
  "%s is public",
  (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  },
);

test("a name is no address", () => {
  expect(isPrivateAddress("example.com")).toBe(false);
});

test.each([true, false])("a name of this machine has no public address (all: %s)", async (all) => {
  const found = promisify(lookupPublic)("localhost", { all });
  await expect(found).rejects.toMatchObject({ code: "PRIVATE_ADDRESS" });
});

/** Lets Node's lookup answer as a test says. */
function answerLookups(answer: unknown) {
  const lookup = vi.spyOn(dns, "lookup").mockImplementation(answer as never);
  syncBuiltinESMExports();
  onTestFinished(() => {
    lookup.mockRestore();
    syncBuiltinESMExports();
  });
}

test.each([true, false])("of a name with both, only the public one (all: %s)", async (all) => {
  const found = [
    { address: "10.0.0.1", family: 4 },
    { address: "::ffff:127.0.0.1", family: 6 },
    { address: "8.8.8.8", family: 4 },
  ];
  type Callback = (error: null, addresses: typeof found) => void;
  const answer = (_: string, __: object, callback: Callback) => callback(null, found);
  answerLookups(answer);
  const publicOnes = promisify(lookupPublic)("both.example", { all });
  expect(await publicOnes).toEqual(all ? [{ address: "8.8.8.8", family: 4 }] : "8.8.8.8");
});

test.each([true, false])("a public address is found (all: %s)", async (all) => {
  const found = promisify(lookupPublic)("8.8.8.8", { all });
  expect(await found).toEqual(all ? [{ address: "8.8.8.8", family: 4 }] : "8.8.8.8");
});

test("names without an answer take two threads, however many connections want them", async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const found = [{ address: "8.8.8.8", family: 4 }];
  type Callback = (error: null, addresses: typeof found) => void;
  answerLookups((name: string, _: object, callback: Callback) => {
    asked.push(name);
    answers.push(() => callback(null, found));
  });
  const names = ["one.example", "two.example", "three.example"];
  const lookups = [lookupPublic, lookupAny].flatMap((lookup) =>
    names.flatMap((name) => Array.from({ length: 64 }, () => promisify(lookup)(name, {}))),
  );
  await new Promise(setImmediate);
  expect(asked).toEqual(names.slice(0, 2));
  answers.shift()?.();
  await new Promise(setImmediate);
  expect(asked).toEqual(names);
  for (const answer of answers) answer();
  expect(new Set(await Promise.all(lookups))).toEqual(new Set(["8.8.8.8"]));
});

test("a name that could not be found is asked for again", async () => {
  let [asked, isThere] = [0, false];
  type Callback = (error: Error | null, addresses: object[]) => void;
  answerLookups((_: string, __: object, callback: Callback) => {
    asked += 1;
    if (isThere) callback(null, [{ address: "8.8.8.8", family: 4 }]);
    else callback(new Error("ENOTFOUND"), []);
  });
  await expect(promisify(lookupAny)("new.example", {})).rejects.toThrow("ENOTFOUND");
  isThere = true;
  expect(await promisify(lookupAny)("new.example", {})).toBe("8.8.8.8");
  expect(asked).toBe(2);
});
