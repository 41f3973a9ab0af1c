/** Runs the programs of docs/call/events.md, which print who uses points, for ever. */
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { appending, used } from "../fixtures/event-log.ts";
import { eventually } from "../fixtures/waiting.ts";
import type { TestServer } from "../servers/server.ts";

/**
 * Runs a program of a folder twice, and expects that it prints what happens, keeps its cursor, and
 * goes on behind it. Returns the lines of both runs.
 */
export async function readTwice(
  server: TestServer,
  folder: string,
  command: readonly [file: string, ...args: string[]],
): Promise<readonly string[]> {
  const append = appending(createEventLog(server.dynamo, server.table("events")));
  const file = join(folder, "cursor");
  await append([]);
  await writeFile(file, (await server.events.readEvents({})).cursor);
  const lines: string[] = [];
  for (const number of [1, 2]) {
    await append([used("aoi", number), used("bo", number, "cafe")]);
    lines.push(...(await readOnce(folder, file, command)));
  }
  return lines;
}

/** Runs the program until it has saved a cursor behind a line. */
async function readOnce(
  cwd: string,
  cursorFile: string,
  [file, ...args]: readonly [string, ...string[]],
): Promise<readonly string[]> {
  const before = await readFile(cursorFile, "utf8");
  const child = spawn(file, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const printed = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (printed.out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (printed.err += text));
  await eventually(async () => {
    expect(child.exitCode, printed.err).toBe(null);
    expect(printed.out).toContain("\n");
    expect(["", before]).not.toContain(await readFile(cursorFile, "utf8"));
  });
  child.kill("SIGKILL");
  await closed;
  return printed.out.trim().split("\n");
}
