/** Plays h2spec, a conformance suite for HTTP/2, against the listener of a whole server. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readDeviations } from "../support/others/deviations.ts";
import { findSuite } from "../support/others/go-tools.ts";
import { startMemoryServer } from "../support/servers/server.ts";

/** Refused with a body, because some cases are skipped for answers without one. */
const path =
  "/meguri.programs.v1.ProgramService/GetProgram?connect=v1&encoding=json&message=%7B%7D";

/** Seconds that a case waits for a frame: a busy machine needs more than the 2 of h2spec. */
const timeout = "5";

test("HTTP/2 conforms, but for the known deviations", async () => {
  const h2spec = await findSuite("h2spec");
  const folder = await mkdtemp(join(tmpdir(), "meguri-h2spec-"));
  const server = await startMemoryServer();
  try {
    const report = join(folder, "report.xml");
    const where = ["--port", String(server.port), "--path", path];
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    // It exits with 1 when a case fails; what it has played is in its report.
    execFile(h2spec, [...where, "--timeout", timeout, "--junit-report", report], () => resolve());
    await ended;
    const cases = casesOf(await readFile(report, "latin1"));
    expect(cases.size).toBeGreaterThan(140);
    const notPassed = [...cases].flatMap(([name, hasPassed]) => (hasPassed ? [] : [name]));
    expect(notPassed.sort()).toEqual(readDeviations("h2spec-deviations.txt"));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
});

/** Whether each case has passed, by section and title; a skipped one has not. */
function casesOf(report: string): ReadonlyMap<string, boolean> {
  const form = /<testcase package="(.*?)" classname="(.*?)" time="[\d.]+">(<\/testcase>)?/g;
  const cases = [...report.matchAll(form)].map(([, section, title, end]) => {
    const name = `${section} ${title?.replaceAll("&#34;", '"').replaceAll("&amp;", "&")}`;
    return [name, end !== undefined] as const;
  });
  return new Map(cases);
}
