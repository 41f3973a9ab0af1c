/** Tests the packages as other teams get them: tarballs, on each version of Node. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readTwice } from "../support/events/printed-reader.ts";
import { codeNamed, fetchProtos, onPorts, projectRoot } from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { inForm } from "../support/soak.ts";

const run = promisify(execFile);

const buf = join(projectRoot, "node_modules", ".bin", "buf");

/** The short form installs under the oldest versions, and the client under the present one. */
const versions = {
  client: inForm({ short: ["20.20.2", "24.21.0"], long: ["20.20.2", "22.23.3", "24.21.0"] }),
  cli: inForm({ short: ["22.12.0"], long: ["22.12.0", "24.21.0"] }),
};

/** The npm package with the program of Node for this machine. */
const nodePackage = `node-${process.platform}-${process.arch}`;

let server: TestServer;
let folder: string;
let client: string;
let cli: string;
beforeAll(async () => {
  // The guard of deploy/policies is TypeScript, which the older versions of Node cannot load.
  delete process.env.NODE_OPTIONS;
  server = await startServer();
  await fetchProtos();
  folder = await mkdtemp(join(tmpdir(), "meguri-packages-"));
  const build = join(projectRoot, "tools", "dev", "build-packages.ts");
  const { stdout } = await run("node", [build, folder], { cwd: projectRoot });
  [client = "", cli = ""] = stdout.split("\n");
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

/** Installs a package into an empty project, by the npm of this run under another Node. */
async function installUnder(version: string, tarball: string, name: string) {
  const project = join(folder, `${name}-${version}`);
  const programs = join(folder, `programs-${version}`);
  const npm = process.env.npm_execpath;
  if (npm === undefined) throw new Error("the tests run by npm, whose program installs packages");
  const quiet = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
  await run("node", [npm, "install", `${nodePackage}@${version}`, "--prefix", programs, ...quiet]);
  const node = join(programs, "node_modules", nodePackage, "bin", "node");
  await run(node, [npm, "install", tarball, "--prefix", project, ...quiet]);
  return { node, project };
}

test.each(versions.client)(
  "the client installs into an empty project and runs on Node %s",
  async (version) => {
    const { node, project } = await installUnder(version, client, "client");
    const example = onPorts(codeNamed("docs/call/clients.md", "typescript"), server);
    const file = join(project, "example.mjs");
    await writeFile(file, example);
    expect((await run(node, ["--version"])).stdout.trim()).toBe(`v${version}`);

    const { stdout } = await run(node, [file]);

    const replayed = version !== "20.20.2";
    expect(stdout).toBe(`120 points, replayed: ${replayed}\nonly 120 points\n`);
  },
);

test("the client's README says how to grant points", async () => {
  const project = join(folder, "client-24.21.0");
  const file = join(project, "readme.mjs");
  await writeFile(file, onPorts(codeNamed("packages/client/README.md", "client"), server));
  expect((await run("node", [file])).stdout).toBe("granted\n");
  expect((await run("node", [file])).stdout).toBe("granted earlier\n");
});

test("the printed program follows events, and goes on where it has ended", async () => {
  const project = join(folder, "client-24.21.0");
  const file = join(project, "follow.mts");
  await writeFile(file, onPorts(codeNamed("docs/call/events.md", "follow"), server));
  expect(await readTwice(server, project, [process.execPath, file])).toEqual([
    "points/default/aoi/1: aoi used 0 points",
    "points/default/aoi/2: aoi used 0 points",
  ]);
});

test.each(versions.cli)(
  "the command installs into an empty project and answers a call on Node %s",
  async (version) => {
    const { node, project } = await installUnder(version, cli, "cli");
    const meguri = join(project, "node_modules", ".bin", "meguri");
    const env = { ...process.env, MEGURI_URL: `http://127.0.0.1:${server.port}` };
    const user = `user-${version}`;
    const command = (...args: string[]) => run(node, [meguri, ...args], { env });
    expect((await run(node, ["--version"])).stdout.trim()).toBe(`v${version}`);

    const granted = await command("grant", user, "120", "--event-id", "order-17");
    const doctor = await command("doctor");

    expect(granted).toMatchObject({ stdout: expect.stringContaining(`to ${user}`), stderr: "" });
    expect(doctor.stdout).toContain("the server and this command know the same methods");
    expect(doctor.stderr).toBe("");
  },
);

test("the command says that Node 20 is too old", async () => {
  const { node, project } = await installUnder("20.20.2", cli, "cli");
  const meguri = join(project, "node_modules", ".bin", "meguri");
  await expect(run(node, [meguri, "balance", "alice"])).rejects.toMatchObject({
    code: 2,
    stderr: "meguri: needs Node 22.12 or newer, and this is v20.20.2\n",
  });
});

test("the client has types for every entry", async () => {
  const project = join(folder, "client-24.21.0");
  const text = `
    import { createMeguri, type Reason, reasonOf } from "@meguri/client";
    import { Balance, GetBalanceRequestSchema } from "@meguri/client/points";
    import { BulkGrant_State } from "@meguri/client/bulk-grants";
    import { HealthCheckResponse } from "@meguri/client/health";
    import { UnreadCount } from "@meguri/client/notifications";
    import { Program } from "@meguri/client/programs";
    import { TargetName } from "@meguri/client/reactions";
    import { Reservation } from "@meguri/client/reservations";
    import { ClockService } from "@meguri/client/testing";
    const balance: Promise<{ balance?: Balance }> =
      createMeguri({ url: "http://a:1" }).points.getBalance({ userId: "u" });
    const reason: Reason | undefined = reasonOf(new Error());
    export type All = [UnreadCount, Program, TargetName, Reservation, BulkGrant_State];
    export type { HealthCheckResponse };
    export default [balance, reason, GetBalanceRequestSchema, ClockService];
  `;
  await writeFile(join(project, "types.ts"), text);
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
  const tsc = join(projectRoot, "node_modules", ".bin", "tsc");
  await run(tsc, [...options, "types.ts"], { cwd: project });
  const wrong = text.replace('userId: "u"', "userId: 5");
  await writeFile(join(project, "types.ts"), wrong);
  await expect(run(tsc, [...options, "types.ts"], { cwd: project })).rejects.toThrow();
});

test.each([
  ["the descriptor set", () => join(folder, "meguri.binpb")],
  ["the folder of the protos", () => join(projectRoot, "proto")],
])("buf generate emits Meguri's code only, from %s", async (_, input) => {
  const out = await mkdtemp(join(folder, "generated-"));
  const plugin = join(projectRoot, "node_modules", ".bin", "protoc-gen-es");
  const template = { version: "v2", plugins: [{ local: plugin, out: ".", opt: "target=js" }] };
  await run(buf, ["generate", input(), "--template", JSON.stringify(template), "-o", out]);
  expect(await readdir(out)).toEqual(["meguri"]);
  const packages = await readdir(join(projectRoot, "proto", "meguri"));
  expect((await readdir(join(out, "meguri"))).sort()).toEqual(packages.sort());
});
