/** Tests `meguri events tail`, in a pipe and in a terminal. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEventLog } from "../../src/events/store/event-log.ts";
import { appending, ofNoProgram, used } from "../support/fixtures/event-log.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type CommandLine, startCommandLine } from "../support/servers/cli.ts";
import { type Mode, modes } from "../support/servers/cli-stack.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
let append: ReturnType<typeof appending>;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  server = await startMemoryServer();
  append = appending(createEventLog(server.store.client, "events"));
  folder = await mkdtemp(join(tmpdir(), "meguri-events-"));
  env = { MEGURI_URL: `http://127.0.0.1:${server.port}`, MEGURI_CALLER: "rin" };
  await append([
    used("aoi", 1),
    used("bo", 1, "cafe"),
    ofNoProgram("targets/post/1/1", "target.changed"),
  ]);
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

function testCommand(mode: Mode): void {
  let meguri: CommandLine;
  beforeAll(async () => {
    meguri = await startCommandLine(mode, env);
  });
  afterAll(() => meguri?.close());

  const tail = (...options: string[]) => ["events", "tail", ...options];
  const toEnd = ["--no-follow", "--since", "1h"];
  /** The ids of the events that a command prints to the end of the log. */
  async function ids(...options: string[]): Promise<string[]> {
    const { code, stdout, stderr } = await meguri.run(...tail(...options));
    expect(code, stdout + stderr).toBe(0);
    return stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).id]));
  }

  test("prints what there is, and ends", async () => {
    expect(await ids(...toEnd)).toEqual(["points/default/aoi/1"]);
    expect(await ids(...toEnd, "--program", "cafe")).toEqual(["points/cafe/bo/1"]);
    // The test of the other mode may have added events of a program of its own.
    const first = ["points/default/aoi/1", "points/cafe/bo/1", "targets/post/1/1"];
    expect((await ids(...toEnd, "--all-programs")).slice(0, 3)).toEqual(first);
    expect(await ids(...toEnd, "--all-programs", "--type", "target.changed")).toHaveLength(1);
    expect(await ids("--no-follow")).toEqual([]);
  });

  test("prints texts if they are asked for", async () => {
    const printed = async (...options: string[]) =>
      (await meguri.run(...tail(...toEnd, ...options))).stdout;
    expect(await printed()).not.toContain("a secret");
    expect(await printed("--include", "reason")).toContain("a secret");
  });

  test("goes on where the last run has ended", async () => {
    const file = join(folder, `${mode}-cursor`);
    const options = ["--since", "1h", "--program", mode, "--cursor-file", file];
    const watch = meguri.start(...tail(...options));
    await append([used("aoi", 2, mode)]);
    await watch.printed(`points/${mode}/aoi/2`);
    // The cursor behind the event is saved when the command asks for the next one.
    await eventually(async () => {
      const cursor = (await readFile(file, "utf8")).trim();
      const { events } = await server.events.readEvents({ programId: mode, cursor });
      expect(events).toEqual([]);
    });
    watch.interrupt();
    expect(await watch.done).toMatchObject({ code: 0 });
    await append([used("aoi", 3, mode)]);
    expect(await ids("--no-follow", ...options)).toEqual([`points/${mode}/aoi/3`]);
    expect(await ids("--no-follow", ...options)).toEqual([]);
  });

  test("refuses what does not go together, and names the nearest type", async () => {
    const both = await meguri.run(...tail("--all-programs", "--program", "cafe"));
    expect(both.code).toBe(2);
    const mistyped = await meguri.run(...tail("--no-follow", "--type", "point.used"));
    expect(mistyped.code).toBe(1);
    expect(mistyped.stdout + mistyped.stderr).toContain("points.used");
  });

  /** Runs a command that is refused, and returns its message. */
  async function refused(code: number, ...options: string[]): Promise<string> {
    const { stdout, stderr, ...ended } = await meguri.run(...tail(...options));
    expect(ended, stdout + stderr).toEqual({ code });
    return stdout + stderr;
  }

  test.each(["1x", "+2h", "yesterday", "2026-13-01"])(
    "says what --since takes, not %s",
    async (time) => {
      expect(await refused(2, "--since", time)).toContain('such as "1h", or a time with its zone');
    },
  );

  test("begins at any time, and at the oldest event", async () => {
    const first = "points/default/aoi/1";
    for (const time of ["3600s", "60m", "30d", "1970-01-01T00:00:01Z", "2026-01-01T09:00+09:00"]) {
      expect(await ids("--no-follow", "--since", time), time).toEqual([first]);
    }
    expect(await ids("--no-follow", "--since", "0s")).toEqual([]);
    expect(await refused(1, "--no-follow", "--since", "99999d")).toContain("--since: 1970-01-01");
  });

  test.each(["--follow", "--no-follow"])(
    "says what is wrong with its cursor file, %s",
    async (how) => {
      const options = how === "--no-follow" ? [how, "--cursor-file"] : ["--cursor-file"];
      const file = join(folder, `${mode}${how}`);
      expect(await refused(2, ...options, join(file, "cursor"))).toContain("--cursor-file: ENOENT");
      expect(await refused(2, ...options, folder)).toContain("--cursor-file: EISDIR");
      await writeFile(file, "not a cursor\n");
      expect(await refused(1, ...options, file)).toContain("--cursor-file: 128 letters,");
      await writeFile(file, "x".repeat(10_000));
      expect(await refused(1, ...options, file)).toContain("--cursor-file: 128 letters,");
      await writeFile(file, Buffer.from("1.another.1.0").toString("base64url"));
      const expired = await refused(1, ...options, file);
      const [, since = ""] = expired.match(/delete \S+, and begin again with --since (\S+)/) ?? [];
      expect(await ids("--no-follow", "--since", since)).toEqual(["points/default/aoi/1"]);
    },
  );
}

describe.each(modes)("in a %s", testCommand);
