/**
 * Tests that a source which hangs holds no call for long, and not the files of other sources, and
 * that the log does not quote a file.
 */
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createSourceReads } from "../../../src/bulk-grants/rpc/source-reads.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { bulkPorts } from "../../support/servers/bulk-ports.ts";

const lines: string[] = [];
const log = pino({}, { write: (line: string) => void lines.push(line) });

/**
 * Sources of which `hung` never answers until it is released, `broken` quotes a file in its errors,
 * and the others have two chunks.
 */
function openSources() {
  const { promise, resolve } = Promise.withResolvers<void>();
  async function* csv() {
    yield Buffer.from("a");
    yield Buffer.from("b");
  }
  const open = async (source: string) => {
    if (source.startsWith("hung/")) await promise;
    if (source.startsWith("broken/")) throw new SyntaxError("planted-user,10 is no header");
    return { identity: "batch", csv: csv() };
  };
  const bulkSources: Deps["bulkSources"] = { ...bulkPorts.bulkSources, open };
  const useSource = createSourceReads({ bulkSources }, log, 20);
  const textOf = async (name: string, signal = new AbortController().signal) => {
    const file = { name, source: `${name}/a.csv`, programId: "default" };
    return useSource(file, signal, ({ csv }) => text(csv));
  };
  return { textOf, release: resolve };
}

test("a source that has no next bytes in time is not waited for", async () => {
  const { textOf } = openSources();
  await expect(textOf("hung")).rejects.toMatchObject({ reason: "SOURCE_UNAVAILABLE" });
});

test("a call that is over waits for no source", async () => {
  const { textOf } = openSources();
  const reason = new Error("the deadline is over");
  await expect(textOf("hung", AbortSignal.abort(reason))).rejects.toBe(reason);
});

test("two reads that hang keep the places of their source, and leave one to others", async () => {
  const { textOf, release } = openSources();
  const hung = () => expect(textOf("hung")).rejects.toMatchObject({ reason: "SOURCE_UNAVAILABLE" });
  await Promise.all([hung(), hung()]);
  await expect(textOf("hung")).rejects.toMatchObject({ reason: "OVERLOADED" });
  expect(await textOf("nightly")).toBe("ab");
  release();
  await expect.poll(() => textOf("hung").catch(String)).toBe("ab");
});

test("a source that fails is logged by the type of its error and its place", async () => {
  const { textOf } = openSources();
  await expect(textOf("broken")).rejects.toMatchObject({ reason: "SOURCE_UNAVAILABLE" });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { source: "broken", err: { type: "SyntaxError" }, msg: "a source failed" },
  ]);
  expect(lines.join()).toContain("source-reads.test.ts");
  expect(lines.join()).not.toContain("planted-");
});
