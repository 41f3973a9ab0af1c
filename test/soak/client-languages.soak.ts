/** Runs the documentation's clients in Go and Python, where these tools are there. */
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toConnectError } from "../../src/platform/edge/errors.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { type ScriptedServer, startScripted } from "../client/scripted-server.ts";
import { readTwice } from "../support/events/printed-reader.ts";
import { codeNamed, fetchProtos, onPorts, type Ports, projectRoot } from "../support/markdown.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

const run = promisify(execFile);

const isThere = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;
const hasGo = isThere("go", "version");
const hasPython = isThere("python3", "-c", "import ensurepip, venv");

const answer = "points 120\nINSUFFICIENT_POINTS 120\n";

/** The refusal of a use with the longest message that a server does not cut: 4 KiB of trailers. */
function longestRefusal(): DomainError {
  for (let length = 4_096; ; length -= 1) {
    const message = "x".repeat(length);
    const refusal = new DomainError("INSUFFICIENT_POINTS", message, { available_points: "120" });
    if (toConnectError(refusal).rawMessage === message) return refusal;
  }
}
const longest = longestRefusal();

let server: TestServer;
/** Grants points, and answers every use with the longest refusal. */
let refusing: ScriptedServer;
let folder: string;
beforeAll(async () => {
  server = await startServer();
  refusing = await startScripted({
    grantPoints: () => ({ availablePoints: 120n }),
    usePoints: () => {
      throw toConnectError(longest);
    },
  });
  await fetchProtos();
  folder = await mkdtemp(join(tmpdir(), "meguri-languages-"));
  const build = join(projectRoot, "tools", "dev", "build-packages.ts");
  await run("node", [build, folder], { cwd: projectRoot });
});
afterAll(async () => {
  await server.stop();
  await refusing.stop();
  await rm(folder, { recursive: true, force: true });
});

const codeOf = (page: string, name: string, ports: Pick<Ports, "port"> = server) =>
  onPorts(codeNamed(`docs/call/${page}`, name), { http1Port: server.http1Port, ...ports });
const code = (name: string, ports?: Pick<Ports, "port">) => codeOf("clients.md", name, ports);

/** What the readers of events print of the events that happen before each of their two runs. */
const usedByAoi = ["points/default/aoi/1 aoi 0", "points/default/aoi/2 aoi 0"];

/** What the examples print of the longest refusal, with its code and the length of its message. */
const longestAnswer = (codeName: string) =>
  `points 120\n${codeName} ${longest.message.length} INSUFFICIENT_POINTS 120\n`;

test.skipIf(!hasGo)(
  "the examples in Go grant points, read a reason, also of the longest refusal, and events",
  async () => {
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

    const prints = "fmt.Println(status.Code(err), len(status.Convert(err).Message()), ";
    const main = code("go", refusing).replace("fmt.Println(info", `${prints}info`);
    await writeFile(join(folder, "main.go"), main);
    const { stdout } = await run("go", ["run", "."], options);
    expect(stdout).toBe(longestAnswer("FailedPrecondition"));

    await writeFile(join(folder, "main.go"), codeOf("events.md", "goevents"));
    await run("go", ["build", "-o", "events", "."], options);
    expect(await readTwice(server, folder, [join(folder, "events")])).toEqual(usedByAoi);
  },
);

test.skipIf(!hasPython)(
  "the examples in Python grant points, read a reason, also of the longest refusal, and events",
  async () => {
    const options = { cwd: folder };
    await mkdir(join(folder, "gen"), { recursive: true });
    await run("sh", ["-ec", code("pysetup")], options);
    await writeFile(join(folder, "shop.py"), code("python"));
    expect((await run(".venv/bin/python", ["shop.py"], options)).stdout).toBe(answer);

    const prints = "print(error.code().name, len(error.details()), ";
    const shop = code("python", refusing).replace("print(info", `${prints}info`);
    await writeFile(join(folder, "shop.py"), shop);
    const { stdout } = await run(".venv/bin/python", ["shop.py"], options);
    expect(stdout).toBe(longestAnswer("FAILED_PRECONDITION"));

    await run("sh", ["-ec", codeOf("events.md", "pyeventsetup")], options);
    await writeFile(join(folder, "events.py"), codeOf("events.md", "pyevents"));
    const python = [join(folder, ".venv/bin/python"), "events.py"] as const;
    expect(await readTwice(server, folder, python)).toEqual(usedByAoi);
  },
);
