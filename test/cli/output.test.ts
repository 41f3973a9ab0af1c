/** Tests what is printed on a terminal and in a pipe, without a server. */
import { PassThrough } from "node:stream";
import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { LedgerEntrySchema } from "@meguri/client/points";
import type { Command } from "commander";
import { expect, test, vi } from "vitest";
import type { Io } from "../../packages/cli/src/io.ts";
import { readPoints, readTime } from "../../packages/cli/src/options.ts";
import { createOutput, formatTime } from "../../packages/cli/src/output.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { run } from "../../packages/cli/src/run.ts";

/** Streams that keep what is written to them. */
function memoryIo(isTTY: boolean, env: NodeJS.ProcessEnv = {}): Io & { printed(): string } {
  const stdout = Object.assign(new PassThrough(), { isTTY, columns: 100 });
  const stderr = new PassThrough();
  const { signal } = new AbortController();
  const printed = () => `${stdout.read() ?? ""}${stderr.read() ?? ""}`;
  return { stdin: new PassThrough(), stdout, stderr, env, signal, printed };
}

const entries = [
  create(LedgerEntrySchema, { number: 1n, points: 1_000n, reason: "贈り物\t\u001b[31m\nred" }),
  create(LedgerEntrySchema, { number: 12n, points: 5n, event: { eventId: "last" } }),
];

async function* pages() {
  for (const entry of entries) yield [entry];
}

const columns = {
  number: ({ number }: (typeof entries)[0]) => number,
  reason: ({ reason }: (typeof entries)[0]) => reason,
  points: ({ points }: (typeof entries)[0]) => points,
  event: ({ event }: (typeof entries)[0]) => event?.eventId,
};

test("a pipe gets lines with tabs, without names, control characters or empty cells", async () => {
  const io = memoryIo(false);
  await createOutput(io, false).list(LedgerEntrySchema, pages(), columns);
  const odd = "贈り物\uFFFD\uFFFD[31m\uFFFDred";
  expect(io.printed()).toBe(`1\t${odd}\t1000\t-\n12\t-\t5\tlast\n`);
});

test("a terminal gets aligned columns, also after wide characters and on a new page", async () => {
  const io = memoryIo(true, { NO_COLOR: "1" });
  await createOutput(io, false).list(LedgerEntrySchema, pages(), columns);
  expect(io.printed().split("\n")).toEqual([
    "number  reason            points  event",
    "1       贈り物\uFFFD\uFFFD[31m\uFFFDred  1000    -",
    "12      -                 5       last",
    "",
  ]);
});

test("colours are for terminals, and NO_COLOR turns them off", () => {
  const styled = (io: Io) => createOutput(io, false).style("green", "ok");
  expect(styled(memoryIo(true))).toBe("\u001b[32mok\u001b[39m");
  expect(styled(memoryIo(true, { NO_COLOR: "1" }))).toBe("ok");
  expect(styled(memoryIo(false))).toBe("ok");
});

test("times have a zone, and can be relative", () => {
  expect(timestampMs(readTime("2026-12-24T09:00+09:00"))).toBe(Date.UTC(2026, 11, 24));
  const inTwoDays = timestampDate(readTime("+2d")).getTime() - Date.now();
  expect(Math.round(inTwoDays / 3_600_000)).toBe(48);
  for (const wrong of ["2026-12-24T09:00", "tomorrow", "+2", "+2y"]) {
    expect(() => readTime(wrong)).toThrow("a time with its zone");
  }
  const time = readTime("2026-12-24T09:00:01Z");
  expect(formatTime(time)).toMatch(/^2026-12-2\dT\d\d:\d\d:01[+-]\d\d:\d\d$/);
  expect(readTime(formatTime(time))).toEqual(time);
});

test("points are whole numbers from 1 on", () => {
  expect(readPoints("1000000000")).toBe(1_000_000_000n);
  for (const wrong of ["0", "-1", "1.5", "1e3", ""]) expect(() => readPoints(wrong)).toThrow();
});

test("every command has a summary, a description and an example, in plain words", () => {
  const program = createProgram(memoryIo(false), () => async () => {});
  const incomplete: string[] = [];
  const visit = (command: Command, path: string) => {
    const children = command.createHelp().visibleCommands(command);
    for (const child of children.filter((each) => each.name() !== "help")) {
      const name = `${path} ${child.name()}`;
      const isGroup = child.commands.length > 0;
      const isWhole = child.summary() && child.description().endsWith(".");
      let help = "";
      child.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      if (!isWhole || !(isGroup || help.includes(`\n  meguri`) || help.includes("meguri "))) {
        incomplete.push(name);
      }
      expect(help).not.toContain("false");
      visit(child as Command, name);
    }
  };
  visit(program, "meguri");
  expect(incomplete).toEqual([]);
});

test.each([
  [["grant", "alice"], "missing required argument 'points'"],
  [["grnat", "alice"], "unknown command 'grnat' (Did you mean grant?)"],
  [["balance", "alice", "--jsn"], "unknown option '--jsn' (Did you mean --json?)"],
  [["balance", "alice", "--url", "nowhere"], "url: nowhere does not begin"],
  [["refund", "alice", "e"], "required option '--expired-points <policy>' not specified"],
  [["balance", "a", "--pending", "--as-of", "2026-11-01T00:00Z"], "cannot be used with"],
  [["like", "bao", "post/42"], "required option '--name <name>' not specified"],
  [["like", "bao", "post/42", "--nme", "B"], "unknown option '--nme' (Did you mean --name?)"],
  [["reserve", "bao", "5", "--att", "+2h"], "unknown option '--att' (Did you mean --at?)"],
  [["ledger", "export", "x", "--to", "audit"], "required option '--until <time>' not specified"],
  [["like", "bao", "post/42", "--name", "B", "--cool-down", "1"], "It has to be a time such as"],
  [["like", "bao", "post", "--name", "B"], "It has to be a type and an id, such as post/42."],
])("%j is wrong usage", async (argv, message) => {
  const io = memoryIo(false);
  expect(await run(argv, io)).toBe(2);
  expect(io.printed()).toContain(`meguri: USAGE: `);
  const asJson = memoryIo(false);
  expect(await run([...argv, "--json"], asJson)).toBe(2);
  expect(JSON.parse(asJson.printed())).toMatchObject({
    error: { reason: "USAGE", message: expect.stringContaining(message), exitCode: 2 },
  });
});

test.each([
  ["meguri un", ["unfreeze", "unlike"]],
  ["meguri --json bulk re", ["reject", "retry", "resume", "reverse"]],
  ["meguri --url x grant a --e", ["--event-id", "--expire-month"]],
  ["meguri bulk rows x --state G", ["GRANTED"]],
  ["meguri refund a b --expired-points ", ["original-expiry", "current-month"]],
  ["meguri ledger alice --ty", ["--type"]],
  ["meguri ledger alice --type U", ["USED", "UNFROZEN"]],
  ["meguri completion ", ["bash", "zsh", "fish"]],
  ["meguri balance ", []],
])("what completes %j", async (line, names) => {
  const words = { COMP_CWORD: "1", COMP_LINE: line, COMP_POINT: String(line.length) };
  const io = memoryIo(false, { SHELL: "fish", ...words });
  expect(await run(["completion-server", "--", ...line.split(" ")], io)).toBe(0);
  const printed = io
    .printed()
    .split("\n")
    .map((text) => text.split("\t")[0] ?? "");
  const prefix = line.slice(line.lastIndexOf(" ") + 1);
  expect(printed.filter((name) => name !== "" && name.startsWith(prefix))).toEqual(names);
});

test("where a file is expected, the shell completes files", async () => {
  const print = vi.spyOn(console, "log").mockReturnValue();
  const line = "meguri bulk submit spring ";
  const words = { COMP_CWORD: "4", COMP_LINE: line, COMP_POINT: String(line.length) };
  expect(await run(["completion-server"], memoryIo(false, { SHELL: "zsh", ...words }))).toBe(0);
  expect(print.mock.calls).toEqual([["__tabtab_complete_files__"]]);
  print.mockRestore();
});

test("all files of variables that cannot be read are named at once", async () => {
  const files = { MEGURI_CA_FILE: "/none.pem", MEGURI_CERT_FILE: "", MEGURI_KEY_FILE: "/none.key" };
  const io = memoryIo(false, files);
  expect(await run(["balance", "alice"], io)).toBe(2);
  expect(io.printed()).toMatch(/MEGURI_CA_FILE: ENOENT.*; MEGURI_KEY_FILE: ENOENT/);
  expect(io.printed()).not.toContain("MEGURI_CERT_FILE");
});
