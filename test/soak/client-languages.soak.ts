/** Runs the documentation's clients in Go and Python, where these tools are there. */
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeNamed, fetchProtos, onPorts, projectRoot } from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

const run = promisify(execFile);

const isThere = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;
const hasGo = isThere("go", "version");
const hasPython = isThere("python3", "-c", "import ensurepip, venv");

const answer = "points 120\nINSUFFICIENT_POINTS 120\n";

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await startServer();
  await fetchProtos();
  folder = await mkdtemp(join(tmpdir(), "meguri-languages-"));
  const build = join(projectRoot, "src", "dev", "build-packages.ts");
  await run("node", [build, folder], { cwd: projectRoot });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const code = (name: string) => onPorts(codeNamed("docs/clients.md", name), server);

test.skipIf(!hasGo)("the example in Go grants points and reads a reason", async () => {
  const bin = join(folder, "bin");
  const plugins = [
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.1",
  ];
  const path = [bin, join(projectRoot, "node_modules", ".bin"), process.env.PATH].join(delimiter);
  const options = { cwd: folder, env: { ...process.env, GOBIN: bin, PATH: path } };
  for (const plugin of plugins) await run("go", ["install", plugin], options);
  await writeFile(join(folder, "buf.gen.yaml"), code("gobuf"));
  await run("buf", ["generate", "meguri.binpb"], options);
  await writeFile(join(folder, "main.go"), code("go"));
  await run("sh", ["-ec", code("gosetup")], options);
  expect((await run("go", ["run", "."], options)).stdout).toBe(answer);
});

test.skipIf(!hasPython)("the example in Python grants points and reads a reason", async () => {
  const options = { cwd: folder };
  await mkdir(join(folder, "gen"), { recursive: true });
  await run("sh", ["-ec", code("pysetup")], options);
  await writeFile(join(folder, "shop.py"), code("python"));
  expect((await run(".venv/bin/python", ["shop.py"], options)).stdout).toBe(answer);
});
